package memoryads

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/transport"
)

// accepted expects Accepted to be false with these words; true, if there are no words.
func (h *hand) accepted(url, words string) {
	h.t.Helper()
	if ok, why := h.Accepted(url); ok != (words == "") || !strings.Contains(why, words) {
		h.t.Errorf("Accepted = %t, %q; want %q", ok, why, words)
	}
}

// ask sends a state-of-the-world request; problem, if not empty, makes it a NACK.
func (h *hand) ask(url, version, nonce, problem string, names ...string) {
	h.t.Helper()
	r := &request{TypeUrl: url, VersionInfo: version, ResponseNonce: nonce, ResourceNames: names}
	if problem != "" {
		r.ErrorDetail = &rpcstatus.Status{Message: problem}
	}
	h.send(r)
}

func TestAcceptedInTheStateOfTheWorld(t *testing.T) {
	inSotW(t, func(h *hand) {
		h.Set(whole, plain("a", "c")...)
		h.accepted(whole, "none of 1 open streams")
		h.ask(whole, "", "", "", "a", "c")
		h.accepted(whole, `newest "a"; 1 responses`)
		first := h.sotw()
		h.ask(whole, "", "n0", "", "a", "c") // a nonce that was not sent
		h.accepted(whole, `newest "a"`)
		h.ask(whole, "", first.GetNonce(), "bad c", "a", "c")
		h.accepted(whole, "rejected the last response: bad c")
		h.Set(whole, plain("a")...)
		second := h.sotw()
		h.ask(whole, second.GetVersionInfo(), second.GetNonce(), "", "a", "c")
		h.accepted(whole, "")
		h.Delete(whole, "c")
		h.accepted(whole, `removal of "c"; 1 responses`)
		h.Set(whole, plain("a")...)
		h.sotw()
		last := h.sotw() // its ACK answers the removal, too
		h.ask(whole, last.GetVersionInfo(), last.GetNonce(), "", "a", "c")
		h.accepted(whole, "")
		h.Set(whole, Resource{Name: "c", Error: &rpcstatus.Status{Message: "denied"}})
		h.accepted(whole, "has 1 unanswered")
		h.sotw()

		h.Set(part, plain("b")...)
		h.ask(part, "", "", "", "b")
		b := h.sotw()
		h.ask(part, b.GetVersionInfo(), b.GetNonce(), "", "b")
		h.Delete(part, "b")
		h.accepted(part, "") // the protocol cannot say that it is gone
		wants(t, "rejections", h.Rejections(whole), "bad c")
		wants(t, "rejections of another type", h.Rejections(part))
	})
}

func TestAcceptedInDelta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHand(t, newTestServer(), transport.MethodDeltaADS)
		h.Set(wild, plain("a")...)
		h.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: wild})
		wants(t, "wildcard", h.SubscribedTo(wild), "*")
		first := h.delta()
		h.Set(wild, plain("b")...)
		second := h.delta()
		h.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: wild, ResponseNonce: second.GetNonce()})
		h.accepted(wild, `newest "a"; 1 responses`) // an ACK answers one response
		h.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: wild, ResponseNonce: first.GetNonce()})
		h.accepted(wild, "")
		h.Delete(wild, "a")
		h.Set(wild, Resource{Name: "b", Error: &rpcstatus.Status{Message: "denied"}})
		h.accepted(wild, `removal of "a"`)
		for range 2 {
			h.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: wild, ResponseNonce: h.delta().GetNonce()})
		}
		h.accepted(wild, "")
		h.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: wild, ResourceNamesUnsubscribe: []string{"*"}})
		h.accepted(wild, "none of 1 open streams")
	})
}

// TestEveryStreamCounts expects one stream that lacks something to be found among others.
func TestEveryStreamCounts(t *testing.T) {
	inSotW(t, func(h *hand) {
		const glob, member = "xdstp://x/test.Part/a/*", "xdstp://x/test.Part/a/b"
		h.Set(part, plain("a")...)
		h.ask(part, "", "", "", "a", "c")
		r := h.sotw()
		h.ask(part, r.GetVersionInfo(), r.GetNonce(), "", "a", "c")
		h.accepted(part, "")
		h.open(transport.MethodADS)
		h.accepted(part, "")
		h.Set(part, plain(member)...)
		h.accepted(part, "")
		h.ask(part, "", "", "", "a", glob)
		h.accepted(part, "stream 2")
		wants(t, "names", h.SubscribedTo(part), "a", "c", glob)
		r = h.sotw()
		h.ask(part, r.GetVersionInfo(), r.GetNonce(), "", "a", glob)
		h.accepted(part, "")
		h.Set(part, plain(member)...)
		h.accepted(part, `newest "`+member)
		h.cancel()
		synctest.Wait()
		h.accepted(part, "")
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
