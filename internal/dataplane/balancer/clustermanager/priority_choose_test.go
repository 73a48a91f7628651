package clustermanager

import (
	"testing"

	"google.golang.org/grpc/connectivity"
)

func TestChoose(t *testing.T) {
	none := childState{}
	in := func(s connectivity.State) childState { return childState{exists: true, state: s} }
	ready, idle, failed := in(connectivity.Ready), in(connectivity.Idle), in(connectivity.TransientFailure)
	connecting := in(connectivity.Connecting)
	trying := childState{exists: true, state: connectivity.Connecting, trying: true}
	for name, test := range map[string]struct {
		children []childState
		want     choice
	}{
		"the first is created":           {[]childState{none, none}, choice{use: 0, create: true}},
		"ready":                          {[]childState{ready, none}, choice{use: 0, active: 1, deactivate: true}},
		"idle is good":                   {[]childState{idle, ready}, choice{use: 0, active: 1, deactivate: true}},
		"better, though lower is ready":  {[]childState{ready, ready, ready}, choice{use: 0, active: 1, deactivate: true}},
		"trying is waited for":           {[]childState{trying, ready}, choice{use: 0, active: 1}},
		"failed, so the next is created": {[]childState{failed, none, ready}, choice{use: 1, create: true, active: 1}},
		"no longer trying":               {[]childState{connecting, ready, failed}, choice{use: 1, active: 2, deactivate: true}},
		"the second is trying":           {[]childState{failed, trying, failed}, choice{use: 1, active: 2}},
		"none is good, one connects":     {[]childState{failed, connecting, failed}, choice{use: 1, active: 3}},
		"all have failed":                {[]childState{failed, failed, failed}, choice{use: 2, active: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := choose(test.children); got != test.want {
				t.Errorf("choose = %+v, want %+v", got, test.want)
			}
		})
	}
}
