package extproc

import (
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
)

// A capturing processor keeps the events.
type capturing struct {
	*mute
	events []*extprocv3.ProcessingRequest
}

// Send implements the stream.
func (c *capturing) Send(m *extprocv3.ProcessingRequest) error {
	c.events = append(c.events, m)
	return nil
}

// The last window update before the half-close returns the bytes that the processor has, and those that were consumed.
func TestLastWindowUpdate(t *testing.T) {
	x, _ := (&processor{release: func() {}, uses: 1}).newExchange(t.Context(), nil)
	defer x.cancel()
	c := &capturing{mute: new(mute)}
	x.stream, x.phase, x.drained = c, draining, true
	x.request.sent, x.request.received, x.request.unreturned = 100, 30, 5
	x.response.sent, x.response.received = 10, 30 // the processor has sent more than it has received
	x.halfClose()
	x.unwatch()
	if len(c.events) != 1 {
		t.Fatalf("%d events; want one", len(c.events))
	}
	u := c.events[0].GetClientWindowUpdate()
	if up, down := u.GetWindowIncrementSidestreamToUpstream(), u.GetWindowIncrementSidestreamToDownstream(); up != 75 || down != 0 || !x.halfClosed {
		t.Errorf("the update is %d and %d, and the stream is half-closed %t; want 75, 0 and true", up, down, x.halfClosed)
	}
}

// A window update may keep the window within its bounds in both directions, and nothing beyond.
func TestBoundsOfAWindow(t *testing.T) {
	for _, tt := range []struct {
		window, n int64
		valid     bool
	}{
		{0, maxWindow, true},
		{0, maxWindow + 1, false},
		{-1, maxWindow + 1, false},
		{1, maxWindow, false},
		{0, -maxWindow, true},
		{0, -maxWindow - 1, false},
		{1, -maxWindow - 1, false},
		{-1, -maxWindow, false},
	} {
		d := direction{window: tt.window}
		want := tt.window
		if tt.valid {
			want += tt.n
		}
		if err := d.grow("x", tt.n); (err == nil) != tt.valid || d.window != want {
			t.Errorf("a window of %d grows by %d to %d, %v; want %d", tt.window, tt.n, d.window, err, want)
		}
	}
}
