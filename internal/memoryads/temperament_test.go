package memoryads

import (
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/transport"
)

func like(t *testing.T, temper Temperament, method string, f func(*hand)) {
	t.Helper()
	t.Run(temper.String(), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newTestServer()
			s.Imitate(temper)
			f(newHand(t, s, method))
		})
	})
}

var nack = &rpcstatus.Status{Code: 3, Message: "bad"}

// answerTo makes a request that answers a response: a NACK if version is not its own.
func answerTo(r *discoveryv3.DiscoveryResponse, version string, names ...string) *request {
	a := &request{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce(), VersionInfo: version, ResourceNames: names}
	if version != r.GetVersionInfo() {
		a.ErrorDetail = nack
	}
	return a
}

func TestSotWTemperamentsAfterANack(t *testing.T) {
	for temper, repeats := range map[Temperament]bool{Letter: false, Istiod: false, Snapshot: true, Linear: true, Mux: true, Diderot: false} {
		like(t, temper, transport.MethodADS, func(h *hand) {
			h.Set(whole, plain("a")...)
			h.send(&request{Node: node(), TypeUrl: whole, ResourceNames: []string{"a"}})
			first := h.sotw()
			wants(t, "first", values(first), "a")
			h.send(answerTo(first, "", "a"))
			if repeats {
				wants(t, "after a NACK", values(h.sotw()), "a")
			} else {
				h.quiet()
			}
			h.blamed("")
		})
	}
}

func TestIstiodDropsRequestsWithAnErrorOrAnOldNonce(t *testing.T) {
	like(t, Istiod, transport.MethodADS, func(h *hand) {
		h.Set(part, plain("a", "b")...)
		h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}})
		first := h.sotw()
		h.send(answerTo(first, "", "a", "b"))
		wants(t, "after a NACK", h.Subscribed(), "a")
		h.Set(part, plain("a")...) // a newer response
		h.send(&request{TypeUrl: part, ResponseNonce: first.GetNonce(), ResourceNames: []string{"a", "b"}})
		wants(t, "after an old nonce", h.Subscribed(), "a")
		h.blamed("changes the names")
	})
	like(t, Istiod, transport.MethodDeltaADS, func(h *hand) {
		h.Set(part, plain("a", "b")...)
		h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"a"}})
		first := h.delta()
		h.Set(part, plain("a")...)
		h.send(&change{TypeUrl: part, ResponseNonce: first.GetNonce(), ResourceNamesSubscribe: []string{"b"}})
		wants(t, "after an old nonce", h.Subscribed(), "a")
		second := h.delta()
		h.send(&change{TypeUrl: part, ResponseNonce: second.GetNonce(), ErrorDetail: nack, ResourceNamesSubscribe: []string{"b"}})
		wants(t, "after a NACK", h.Subscribed(), "a")
		h.blamed("changes subscriptions")
	})
}

// A linear cache does not resend a member of a wildcard to which the client subscribes by name
// as the wildcard ends.
func TestLinearCacheRemembersMembers(t *testing.T) {
	for temper, sends := range map[Temperament]bool{Letter: true, Linear: false} {
		like(t, temper, transport.MethodADS, func(h *hand) {
			h.Set(wild, plain("a")...)
			h.send(&request{Node: node(), TypeUrl: wild, ResourceNames: []string{"*"}})
			first := h.sotw()
			h.send(answerTo(first, first.GetVersionInfo(), "*"))
			h.send(answerTo(first, first.GetVersionInfo(), "a"))
			if sends {
				wants(t, "the member", values(h.sotw()), "a")
			} else {
				h.quiet()
			}
			h.blamed("")
		})
	}
}

func TestDiderotSaysThatNamesDoNotExist(t *testing.T) {
	for temper, says := range map[Temperament]bool{Diderot: true, Snapshot: false} {
		like(t, temper, transport.MethodDeltaADS, func(h *hand) {
			h.Set(part, plain("a")...)
			h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"x"}})
			if !says {
				h.quiet()
				return
			}
			if r := h.delta(); r.GetSystemVersionInfo() != "" || len(r.GetRemovedResources()) != 1 {
				t.Errorf("response = %v, want the removal of x, without a version", r)
			}
		})
	}
}

func TestStormIsReportedAndEnds(t *testing.T) {
	like(t, Snapshot, transport.MethodADS, func(h *hand) {
		h.Set(whole, plain("a")...)
		h.send(&request{Node: node(), TypeUrl: whole, ResourceNames: []string{"a"}})
		for range maxRejections + 1 {
			h.send(answerTo(h.sotw(), "", "a"))
		}
		h.quiet()
		h.blamed("the same content is rejected")
	})
}
