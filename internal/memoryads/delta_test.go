package memoryads

import (
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/transport"
)

type change = discoveryv3.DeltaDiscoveryRequest

func inDelta(t *testing.T, f func(*hand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(newHand(t, newTestServer(), transport.MethodDeltaADS))
	})
}

func names(r *discoveryv3.DeltaDiscoveryResponse) (out []string) {
	for _, res := range r.GetResources() {
		out = append(out, res.GetName()+"="+string(res.GetResource().GetValue()))
	}
	return out
}

// told expects a response and ACKs it.
func (h *hand) told(what string, resources []string, removed ...string) *discoveryv3.DeltaDiscoveryResponse {
	h.t.Helper()
	r := h.delta()
	wants(h.t, what, names(r), resources...)
	wants(h.t, what+": removed", r.GetRemovedResources(), removed...)
	h.send(&change{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
	return r
}

func TestDelta(t *testing.T) {
	inDelta(t, func(h *hand) {
		h.Set(part, plain("a", "b")...)
		h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"a", "x"}})
		h.told("first", []string{"a=a"}, "x")
		h.send(&change{TypeUrl: part, ResourceNamesSubscribe: []string{"b"}})
		h.told("added", []string{"b=b"})
		pass(time.Second)
		h.send(&change{TypeUrl: part, ResourceNamesSubscribe: []string{"b"}})
		h.told("again", []string{"b=b"})
		h.Set(part, Resource{Name: "a", Body: []byte("2")})
		h.told("changed", []string{"a=2"})
		h.Set(part, plain("x")...)
		h.told("there now", []string{"x=x"})
		h.Delete(part, "b")
		h.told("deleted", nil, "b")
		h.send(&change{TypeUrl: part, ResourceNamesUnsubscribe: []string{"a", "stranger"}})
		h.Set(part, plain("a")...)
		if u := h.Unanswered(); len(u) != 0 {
			t.Errorf("unanswered: %q", u)
		}
		h.quiet()
		h.blamed(`"b" is subscribed to again, although it is answered`)
	})
}

func TestDeltaReconnect(t *testing.T) {
	for _, omits := range []bool{false, true} {
		inDelta(t, func(h *hand) {
			h.OmitRemovals(omits)
			h.Set(part, plain("kept", "gone", "new")...)
			h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"kept", "gone", "new"}})
			r := h.told("first", []string{"kept=kept", "gone=gone", "new=new"})
			versions := make(map[string]string)
			for _, res := range r.GetResources() {
				versions[res.GetName()] = res.GetVersion()
			}
			h.cancel()
			synctest.Wait()
			h.Delete(part, "gone")
			h.Set(part, Resource{Name: "new", Body: []byte("2")})
			h.open(transport.MethodDeltaADS)
			h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"kept", "gone", "new"}, InitialResourceVersions: versions})
			if omits {
				h.told("second", []string{"new=2"})
			} else {
				h.told("second", []string{"new=2"}, "gone")
			}
			h.quiet()
			h.blamed("")
		})
	}
}

func TestDeltaWildcardAndGlob(t *testing.T) {
	const glob, member, stranger = "xdstp://x/test.Wild/dir/*", "xdstp://x/test.Wild/dir/a", "xdstp://x/test.Wild/dir/a/b"
	for _, everything := range [][]string{nil, {"*"}} {
		inDelta(t, func(h *hand) {
			h.Set(wild, plain("a", member)...)
			h.send(&change{Node: node(), TypeUrl: wild, ResourceNamesSubscribe: everything})
			h.told("everything", []string{"a=a"})
			h.Set(wild, plain("b")...)
			h.told("one more", []string{"b=b"})
			h.send(&change{TypeUrl: wild, ResourceNamesSubscribe: []string{"a"}})
			h.told("by name", []string{"a=a"})
			h.send(&change{TypeUrl: wild, ResourceNamesUnsubscribe: []string{"a"}})
			h.told("by name no longer, but still a part of everything", []string{"a=a"})
			h.send(&change{TypeUrl: wild, ResourceNamesSubscribe: []string{"b"}, ResourceNamesUnsubscribe: []string{"*"}})
			h.told("only b", []string{"b=b"})
			h.Set(wild, plain("a")...)
			h.quiet()
			h.blamed("")
		})
	}
	inDelta(t, func(h *hand) {
		h.send(&change{Node: node(), TypeUrl: wild, ResourceNamesSubscribe: []string{glob}})
		h.told("an empty collection", nil, glob)
		h.Set(wild, plain(member, stranger)...)
		h.told("a member", []string{member + "=" + member})
		h.Delete(wild, member)
		h.told("no member", nil, member)
		h.blamed("")
	})
}

// A client may repeat the wildcard after an answer to a glob, but not after its own answer.
func TestDeltaWildcardRepeated(t *testing.T) {
	const glob, member = "xdstp://x/test.Wild/dir/*", "xdstp://x/test.Wild/dir/a"
	begin := func(h *hand) {
		h.Set(wild, plain(member)...)
		h.send(&change{Node: node(), TypeUrl: wild, ResourceNamesSubscribe: []string{glob}})
		h.send(&change{TypeUrl: wild, ResourceNamesSubscribe: []string{"*"}})
		h.told("a member of the glob", []string{member + "=" + member})
		pass(time.Second) // the next request does not cross the response
		h.send(&change{TypeUrl: wild, ResourceNamesSubscribe: []string{"*"}})
	}
	inDelta(t, func(h *hand) {
		begin(h)
		h.quiet()
		h.blamed("")
	})
	inDelta(t, func(h *hand) {
		begin(h)
		h.Set(wild, plain("a")...)
		h.told("everything", []string{"a=a"})
		pass(time.Second)
		h.send(&change{TypeUrl: wild, ResourceNamesSubscribe: []string{"*"}})
		h.told("everything again", []string{"a=a"})
		h.blamed(`"*" is subscribed to again, although it is answered`)
	})
}

func TestDeltaAliasesAndErrors(t *testing.T) {
	inDelta(t, func(h *hand) {
		h.Set(part, Resource{Name: "a", Aliases: []string{"alias"}, Body: []byte("1")}, Resource{Name: "e", Error: &rpcstatus.Status{Code: 5}})
		h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"alias", "e"}})
		if r := h.told("by its alias", []string{"a=1"}); len(r.GetResourceErrors()) != 1 {
			t.Errorf("resource_errors = %v", r.GetResourceErrors())
		}
		h.Heartbeat(part, "a")
		h.told("heartbeat", []string{"a="})
		h.Delete(part, "a")
		h.told("deleted", nil, "a")
	})
}

func TestDeltaViolations(t *testing.T) {
	for words, f := range map[string]func(*hand){
		"want it in the first": func(h *hand) { h.send(&change{TypeUrl: part, ResourceNamesSubscribe: []string{"a"}}) },
		"unsubscribed from in one request": func(h *hand) {
			h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"a"}, ResourceNamesUnsubscribe: []string{"a"}})
		},
		"a subscription to everything": func(h *hand) { h.send(&change{Node: node(), TypeUrl: part}) },
		"not sent on this stream": func(h *hand) {
			h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"a"}, ResponseNonce: "n0"})
		},
		"is answered twice": func(h *hand) {
			r := h.begin()
			h.send(&change{TypeUrl: part, ResponseNonce: r.GetNonce()})
			h.send(&change{TypeUrl: part, ResponseNonce: r.GetNonce()})
		},
		"a rejection without a nonce": func(h *hand) {
			h.begin()
			h.send(&change{TypeUrl: part, ErrorDetail: &rpcstatus.Status{Code: 3}, ResourceNamesSubscribe: []string{"b"}})
		},
		"a request without any effect": func(h *hand) {
			h.begin()
			h.send(&change{TypeUrl: part})
		},
		"initial_resource_versions in a later": func(h *hand) {
			r := h.begin()
			h.send(&change{TypeUrl: part, ResponseNonce: r.GetNonce(), InitialResourceVersions: map[string]string{"a": "1"}})
		},
		`version "7" of "a", which was never sent`: func(h *hand) {
			h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"a"}, InitialResourceVersions: map[string]string{"a": "7"}})
		},
		`"a", which is not subscribed to`: func(h *hand) {
			h.begin()
			h.cancel()
			h.open(transport.MethodDeltaADS)
			h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"b"}, InitialResourceVersions: map[string]string{"a": "1"}})
		},
		"although the client confirmed its removal": func(h *hand) {
			h.begin()
			h.Delete(part, "a")
			h.told("removed", nil, "a")
			h.cancel()
			h.open(transport.MethodDeltaADS)
			h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"a"}, InitialResourceVersions: map[string]string{"a": "1"}})
		},
		"only learned": func(h *hand) {
			h.Set(wild, plain("a")...)
			h.send(&change{Node: node(), TypeUrl: wild})
			h.delta()
			h.cancel()
			h.open(transport.MethodDeltaADS)
			h.send(&change{Node: node(), TypeUrl: wild, ResourceNamesSubscribe: []string{"*", "a"}})
		},
	} {
		inDelta(t, func(h *hand) {
			f(h)
			h.blamed(words)
		})
	}
}

// begin asks for a resource that is there, and returns the response.
func (h *hand) begin() *discoveryv3.DeltaDiscoveryResponse {
	h.t.Helper()
	h.Set(part, plain("a")...)
	h.send(&change{Node: node(), TypeUrl: part, ResourceNamesSubscribe: []string{"a"}})
	return h.delta()
}
