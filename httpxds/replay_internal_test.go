package httpxds

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
)

// A gatedReader blocks its reader until the gate is closed.
type gatedReader struct{ gate chan struct{} }

func (r gatedReader) Read([]byte) (int, error) {
	<-r.gate
	return 0, io.EOF
}

// TestEndOfReplayedBody expects the end of an attempt to wait for a read of its body, as long as the context allows, and no read
// of the body after it.
func TestEndOfReplayedBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := &replayedBody{source: &checkedBody{source: io.NopCloser(gatedReader{gate}), length: -1}} // closing it does not end the read
		go func() { _, _ = b.Read(make([]byte, 1)) }()
		synctest.Wait()
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if b.end(canceled) {
			t.Error("the attempt has ended while the body is read")
		}
		ended := make(chan bool, 1)
		go func() { ended <- b.end(t.Context()) }()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the end did not wait for the read")
		default:
		}
		close(gate)
		if !<-ended {
			t.Error("the attempt has not ended after the read")
		}
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, errAttemptOver) {
			t.Errorf("a read after the end: %v; want %v", err, errAttemptOver)
		}
	})
}

// TestReplayedNothing expects that nothing is read of a GetBody that returns no body.
func TestReplayedNothing(t *testing.T) {
	if b := new(exchange).replayed(nil, new(http.Request)); b != nil {
		t.Errorf("no body became a %T", b)
	}
}
