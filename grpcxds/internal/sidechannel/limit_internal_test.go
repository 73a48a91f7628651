package sidechannel

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A success stays one although the time limit passes at that moment. A call without a stream fails because of others, if there is a connection.
func TestExplain(t *testing.T) {
	failure := status.Error(codes.Canceled, "x")
	for name, tt := range map[string]struct {
		err                                    error
		connected, begun, expired, undecodable bool
		want                                   codes.Code
		forgivable                             bool
	}{
		"a success":                      {nil, true, true, true, false, codes.OK, true},
		"a failure":                      {failure, true, true, false, false, codes.Canceled, true},
		"a silent service":               {failure, true, true, true, false, codes.DeadlineExceeded, true},
		"no stream":                      {failure, true, false, true, false, codes.Unavailable, false},
		"no connection":                  {failure, false, false, true, false, codes.DeadlineExceeded, true},
		"a response without a meaning":   {failure, true, true, false, true, codes.Canceled, false},
		"the same after the time limit":  {failure, true, true, true, true, codes.Canceled, false},
		"a success after such responses": {nil, true, true, false, true, codes.OK, true},
	} {
		l := &limit{connected: new(atomic.Bool)}
		l.connected.Store(tt.connected)
		l.begun.Store(tt.begun)
		l.expired.Store(tt.expired)
		l.undecodable.Store(tt.undecodable)
		if err := l.explain(tt.err); status.Code(err) != tt.want || err != nil && Forgivable(err) != tt.forgivable {
			t.Errorf("%s: %v, forgivable %t; want %v", name, err, Forgivable(err), tt.want)
		}
	}
}

// A call that gets its stream while the time limit passes has no stream.
func TestBeginAfterTheLimit(t *testing.T) {
	fired := make(chan struct{})
	l := &limit{timeout: time.Nanosecond, connected: new(atomic.Bool), timer: time.AfterFunc(time.Nanosecond, func() { close(fired) })}
	l.connected.Store(true)
	<-fired // the function has not marked the limit as expired yet
	if l.begin() {
		t.Error("the call has a stream; want none")
	}
	if err := l.explain(errors.New("x")); !Crowded(err) {
		t.Errorf("%v; want the error of a call that waits for others", err)
	}
}
