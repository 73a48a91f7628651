package extproc_test

import (
	"testing"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// An immediate response to the server's headers ends the call, although the filter has sent the trailers already. The processor
// keeps the stream open.
func TestImmediateResponseBeforeTrailers(t *testing.T) {
	w := newWorld(t, echo)
	w.Handle(func(s fakeextproc.Stream) error {
		for {
			in, err := s.Recv()
			if err != nil {
				return err
			}
			out := fakeextproc.Reply(in)
			switch {
			case in.GetResponseHeaders() != nil || in.GetResponseBody() != nil:
				continue // no answer before the trailers
			case in.GetResponseTrailers() != nil:
				out.Response = &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
					GrpcStatus: &extprocv3.GrpcStatus{Status: uint32(codes.PermissionDenied)}, Details: "no",
				}}
			}
			if err := s.Send(out); err != nil {
				return err
			}
		}
	})
	if got, err := w.client(allModes).exchange("a"); got != "" || status.Code(err) != codes.PermissionDenied {
		t.Errorf("%q, %v; want PERMISSION_DENIED", got, err)
	}
}
