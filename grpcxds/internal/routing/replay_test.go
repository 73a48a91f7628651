package routing

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/plugins/route"
)

// An endingStream is a stream with a trailer. Its messages end with err.
type endingStream struct {
	grpc.ClientStream
	err error
}

func (s *endingStream) RecvMsg(any) error    { return s.err }
func (s *endingStream) Trailer() metadata.MD { return metadata.Pairs("k", "v") }

// TestTrailerOfALowerStream expects a trailer at the end of the stream only. The end of a stream with one response is
// that response.
func TestTrailerOfALowerStream(t *testing.T) {
	for _, test := range []struct {
		name          string
		serverStreams bool
		err           error
		want          int
	}{
		{"one of several responses", true, nil, 0},
		{"the only response", false, nil, 1},
		{"the end", true, io.EOF, 1},
		{"an error instead of the only response", false, errors.New("broken"), 1},
	} {
		s := &lowerStream{ClientStream: &endingStream{err: test.err}, serverStreams: test.serverStreams}
		if md := s.Trailer(); md != nil {
			t.Errorf("%s: trailer %v before a message was received", test.name, md)
		}
		if err := s.RecvMsg(nil); err != test.err { //nolint:errorlint // it must not be wrapped
			t.Errorf("%s: RecvMsg = %v, want %v", test.name, err, test.err)
		}
		if got := len(s.Trailer()); got != test.want {
			t.Errorf("%s: %d keys in the trailer, want %d", test.name, got, test.want)
		}
	}
}

// TestAttemptsLeaveTheGate expects an attempt whose stream cannot be opened to leave the gate at once, and one with a
// stream to stay until a picker sees it.
func TestAttemptsLeaveTheGate(t *testing.T) {
	refused := status.Error(codes.Internal, "refused")
	for _, err := range []error{refused, nil} {
		g := new(gate)
		tr := &tries{gate: g, retry: &retry{codes: 1 << codes.Unavailable, max: 4, pause: route.BackOff{Base: time.Second, Max: time.Second}}}
		_, got := newReplay(t.Context(), tr, nil, func(context.Context, []grpc.CallOption) (grpc.ClientStream, error) {
			return new(endingStream), err
		})
		if !errors.Is(got, err) {
			t.Errorf("newReplay = %v, want %v", got, err)
		}
		if closed := g.close(0); closed != (err != nil) {
			t.Errorf("stream opened with error %v: the gate closes: %t", err, closed)
		}
	}
}
