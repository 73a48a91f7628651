package ringhash

import "google.golang.org/grpc/connectivity"

// A summary is the combined state of the endpoints of a ring.
type summary struct {
	state connectivity.State
	// connecting says that an endpoint is connecting.
	connecting bool
	// wake is the index of an endpoint to connect without a call, or -1. Without it, a ring that
	// gets no calls would not recover (A61).
	wake int
}

// summarize implements gRFC A42's rules.
func summarize(states []connectivity.State) summary {
	var counts [connectivity.Shutdown + 1]int
	s := summary{wake: -1}
	for i, state := range states {
		counts[state]++
		if state == connectivity.Idle && s.wake < 0 {
			s.wake = i
		}
	}
	s.connecting = counts[connectivity.Connecting] > 0
	failed := counts[connectivity.TransientFailure]
	switch {
	case counts[connectivity.Ready] > 0:
		s.state = connectivity.Ready
	case failed >= 2:
		s.state = connectivity.TransientFailure
	case s.connecting, failed == 1 && len(states) > 1:
		s.state = connectivity.Connecting
	case counts[connectivity.Idle] > 0:
		s.state = connectivity.Idle
	default:
		s.state = connectivity.TransientFailure
	}
	if s.connecting || s.state != connectivity.Connecting && s.state != connectivity.TransientFailure {
		s.wake = -1
	}
	return s
}
