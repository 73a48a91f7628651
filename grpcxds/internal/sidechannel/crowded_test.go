package sidechannel_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds/internal/sidechannel"
)

// The time limit of a call begins again when it gets its stream. A call that gets none of a connection fails because of other calls.
func TestCallsThatWaitForStreams(t *testing.T) { waitForStreams(t, call) }

// The same holds for streams.
func TestStreamsThatWait(t *testing.T) { waitForStreams(t, stream) }

// stream makes a call by a stream.
func stream(ctx context.Context, cc grpc.ClientConnInterface) (string, error) {
	s, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/s.S/M")
	if err != nil {
		return "", err
	}
	reply := new(wrapperspb.StringValue)
	if err := errors.Join(s.SendMsg(wrapperspb.String("")), s.CloseSend(), s.RecvMsg(reply)); err != nil {
		return "", err
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		return "", err
	}
	return reply.GetValue(), nil
}

func waitForStreams(t *testing.T, call func(context.Context, grpc.ClientConnInterface) (string, error)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, grpc.MaxConcurrentStreams(1))
		cc, release := w.open(t, service(t, "a:1", withTimeout))
		defer w.Close()
		defer release()
		if _, err := call(t.Context(), cc); err != nil { // the connection has its limit now
			t.Fatal(err)
		}
		w.handle = func(ss grpc.ServerStream) error {
			if err := ss.RecvMsg(new(wrapperspb.StringValue)); err != nil {
				return err
			}
			<-time.NewTimer(900 * time.Millisecond).C
			return ss.SendMsg(wrapperspb.String(""))
		}
		results := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := call(t.Context(), cc)
				results <- err
			}()
			synctest.Wait()
		}
		ok, crowded := 0, 0
		for range 3 {
			switch err := <-results; {
			case err == nil:
				ok++
			case sidechannel.Crowded(err) && status.Code(err) == codes.Unavailable:
				crowded++
			default:
				t.Error(err)
			}
		}
		if ok != 2 || crowded != 1 {
			t.Errorf("%d calls succeed, %d fail because of the others; want 2 and 1", ok, crowded)
		}
	})
}

// A stateful channel has a state.
type stateful struct {
	grpc.ClientConnInterface
	state connectivity.State
}

func (s stateful) GetState() connectivity.State { return s.state }

// Only a ready channel is connected, and errors of the service are no crowd.
func TestConnected(t *testing.T) {
	for state, want := range map[connectivity.State]bool{connectivity.Ready: true, connectivity.Connecting: false, connectivity.TransientFailure: false} {
		if got := sidechannel.Connected(stateful{state: state}); got != want {
			t.Errorf("%v: connected %t; want %t", state, got, want)
		}
	}
	for _, err := range []error{nil, errors.New("x"), status.Error(codes.DeadlineExceeded, "x"), status.Error(codes.Unavailable, "x")} {
		if sidechannel.Crowded(err) {
			t.Errorf("%v is because of other calls; want not", err)
		}
	}
}
