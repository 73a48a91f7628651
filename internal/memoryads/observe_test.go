package memoryads

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// ask sends a state-of-the-world request; problem, if not empty, makes it a NACK.
func (h *hand) ask(url, version, nonce, problem string, names ...string) {
	h.t.Helper()
	r := &request{TypeUrl: url, VersionInfo: version, ResponseNonce: nonce, ResourceNames: names}
	if problem != "" {
		r.ErrorDetail = &rpcstatus.Status{Message: problem}
	}
	h.send(r)
}

// TestSubscribedTo expects the names of all open streams, each once, and the NACKs of a type.
func TestSubscribedTo(t *testing.T) {
	inSotW(t, func(h *hand) {
		const glob = "xdstp://x/test.Part/a/*"
		h.Set(part, plain("a", "c")...)
		h.ask(part, "", "", "", "a", "c")
		h.ask(part, "", h.sotw().GetNonce(), "bad c", "a", "c")
		wants(t, "rejections", h.Rejections(part), "bad c")
		wants(t, "rejections of another type", h.Rejections(whole))
		first := h.cancel
		h.open(transport.MethodADS)
		h.ask(part, "", "", "", "a", glob)
		wants(t, "names", h.SubscribedTo(part), "a", "c", glob)
		first()
		synctest.Wait()
		wants(t, "names of the open stream", h.SubscribedTo(part), "a", glob)
		h.open(transport.MethodDeltaADS)
		h.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: wild})
		wants(t, "wildcard", h.SubscribedTo(wild), "*")
	})
}

// TestAwait expects calls to look again at each change, and to end with their context.
func TestAwait(t *testing.T) {
	inSotW(t, func(h *hand) {
		ctx, cancel := context.WithCancelCause(h.t.Context())
		ended := make(chan error)
		go func() {
			ended <- h.Await(ctx, func() bool { return slices.Contains(h.SubscribedTo(part), "b") })
		}()
		h.ask(part, "", "", "", "a")
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("Await = %v before the change", err)
		default:
		}
		h.ask(part, "", "", "", "a", "b")
		if err := <-ended; err != nil {
			t.Errorf("Await = %v", err)
		}
		why := errors.New("enough")
		cancel(why)
		if err := h.Await(ctx, func() bool { return false }); !errors.Is(err, why) {
			t.Errorf("Await = %v; want the cause of the context's end", err)
		}
	})
}
