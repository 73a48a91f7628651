package memoryads

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/transport"
)

type request = discoveryv3.DiscoveryRequest

func inSotW(t *testing.T, f func(*hand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(newHand(t, newTestServer(), transport.MethodADS))
	})
}

func TestSotW(t *testing.T) {
	inSotW(t, func(h *hand) {
		h.Set(whole, plain("a", "b", "c")...)
		h.Set(part, plain("a", "b")...)
		h.send(&request{Node: node(), TypeUrl: whole, ResourceNames: []string{"a", "x"}})
		first := h.sotw()
		wants(t, "complete", values(first), "a")
		h.send(&request{TypeUrl: part, ResourceNames: []string{"a"}})
		other := h.sotw()
		wants(t, "part", values(other), "a")
		if u := h.Unanswered(); len(u) != 2 {
			t.Errorf("unanswered: %q, want both", u)
		}
		h.send(&request{TypeUrl: whole, ResourceNames: []string{"a", "x"}, VersionInfo: first.GetVersionInfo(), ResponseNonce: first.GetNonce()})
		h.send(&request{TypeUrl: part, ResourceNames: []string{"a"}, VersionInfo: other.GetVersionInfo(), ResponseNonce: other.GetNonce()})
		h.send(&request{TypeUrl: part, ResourceNames: []string{"a", "b"}, VersionInfo: other.GetVersionInfo(), ResponseNonce: other.GetNonce()})
		added := h.sotw()
		wants(t, "what was added", values(added), "b")
		h.send(&request{TypeUrl: part, ResourceNames: []string{"a", "b"}, VersionInfo: added.GetVersionInfo(), ResponseNonce: added.GetNonce()})
		h.Delete(whole, "a")
		h.Delete(part, "a")
		gone := h.sotw()
		wants(t, "after a removal", values(gone))
		h.send(&request{TypeUrl: whole, ResourceNames: []string{"a", "x"}, VersionInfo: gone.GetVersionInfo(), ResponseNonce: gone.GetNonce()})
		if u := h.Unanswered(); len(u) != 0 {
			t.Errorf("unanswered: %q", u)
		}
		wants(t, "subscribed", h.Subscribed(), "a", "a", "b", "x")
		h.quiet() // the removal from a type that is not complete is not told
		h.blamed("")
	})
}

func TestSotWDroppedNameIsSentWhenItIsTakenAgain(t *testing.T) {
	inSotW(t, func(h *hand) {
		h.Set(part, plain("a", "b")...)
		h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a", "b"}})
		r := h.sotw()
		ack := func(names ...string) {
			h.send(&request{TypeUrl: part, ResourceNames: names, VersionInfo: r.GetVersionInfo(), ResponseNonce: r.GetNonce()})
		}
		ack("a", "b")
		ack("a")
		ack("a", "b")
		wants(t, "taken again", values(h.sotw()), "b")
		h.blamed("")
	})
}

func TestSotWWrapsWhatHasMoreToSay(t *testing.T) {
	inSotW(t, func(h *hand) {
		h.Set(part, Resource{Name: "a", Body: []byte("body"), TTL: time.Minute}, Resource{Name: "e", Error: &rpcstatus.Status{Code: 7, Message: "no"}})
		h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a", "e"}})
		r := h.sotw()
		wants(t, "wrapped", values(r), "a=body")
		if e := r.GetResourceErrors(); len(e) != 1 || e[0].GetResourceName().GetName() != "e" || e[0].GetErrorDetail().GetCode() != 7 {
			t.Errorf("resource_errors = %v", e)
		}
		h.Heartbeat(part, "a")
		wants(t, "heartbeat", values(h.sotw()), "a=")
	})
}

func TestSotWFaults(t *testing.T) {
	inSotW(t, func(h *hand) {
		h.Set(part, plain("a")...)
		h.Hold()
		h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}})
		h.quiet()
		h.Release()
		if n := h.Open(); n != 0 {
			t.Errorf("%d streams are open after the client has left", n)
		}

		h.open(transport.MethodADS)
		h.Silence(transport.MethodADS, true)
		h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}})
		h.Set(part, plain("a")...)
		h.quiet()
		h.Silence(transport.MethodADS, false)

		for _, want := range []error{io.ErrUnexpectedEOF, nil} {
			h.open(transport.MethodADS)
			h.Disconnect(want)
			if want == nil {
				want = io.EOF
			}
			if _, err := h.stream.Receive(); !errors.Is(err, want) {
				t.Errorf("Receive = %v, want %v", err, want)
			}
			if err := h.stream.Send(nil); !errors.Is(err, want) {
				t.Errorf("Send = %v, want %v", err, want)
			}
		}

		h.Fail(transport.MethodADS, io.ErrNoProgress)
		h.open(transport.MethodADS)
		if _, err := h.stream.Receive(); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("Receive = %v, want the failure", err)
		}
		h.Fail(transport.MethodADS, nil)

		h.Refuse(io.ErrClosedPipe)
		if _, err := h.conn.OpenStream(t.Context(), transport.MethodADS); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("OpenStream = %v, want the refusal", err)
		}
		h.Refuse(nil)

		h.open(transport.MethodADS)
		h.StopReading()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}})
		}()
		synctest.Wait()
		select {
		case <-sent:
			t.Error("a request was read")
		default:
		}
		h.ResumeReading()
		<-sent
		wants(t, "after reading again", values(h.sotw()), "a")
		h.blamed("")
	})
}

func TestSotWViolations(t *testing.T) {
	for words, f := range map[string]func(*hand){
		"want it in the first": func(h *hand) { h.send(&request{TypeUrl: part, ResourceNames: []string{"a"}}) },
		"and in no other": func(h *hand) {
			h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}})
			h.send(&request{Node: node(), TypeUrl: whole, ResourceNames: []string{"a"}})
		},
		"listed twice": func(h *hand) {
			h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a", "a"}})
		},
		"a subscription to everything": func(h *hand) { h.send(&request{Node: node(), TypeUrl: part}) },
		`nonce "n0" in the first`: func(h *hand) {
			h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}, ResponseNonce: "n0"})
		},
		"which was never sent": func(h *hand) {
			h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}, VersionInfo: "77"})
		},
		"a rejection in the first": func(h *hand) {
			h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}, ErrorDetail: &rpcstatus.Status{Code: 3}})
		},
		"which was not sent on this stream": func(h *hand) {
			h.first()
			h.send(&request{TypeUrl: part, ResourceNames: []string{"a"}, ResponseNonce: "other"})
		},
		"a rejection without a nonce": func(h *hand) {
			h.first()
			h.send(&request{TypeUrl: part, ResourceNames: []string{"a"}, ErrorDetail: &rpcstatus.Status{Code: 3}})
		},
		"want the accepted one, \"1\"": func(h *hand) { // an ACK without the version
			h.send(&request{TypeUrl: part, ResourceNames: []string{"a"}, ResponseNonce: h.first().GetNonce()})
		},
		"want the accepted one, \"\"": func(h *hand) { // a NACK with the version
			r := h.first()
			h.send(&request{TypeUrl: part, ResourceNames: []string{"a"}, ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo(), ErrorDetail: &rpcstatus.Status{Code: 3}})
		},
		"which was accepted before": func(h *hand) {
			r := h.first()
			ack := &request{TypeUrl: part, ResourceNames: []string{"a"}, ResponseNonce: r.GetNonce(), VersionInfo: r.GetVersionInfo()}
			h.send(ack)
			ack.ErrorDetail = &rpcstatus.Status{Code: 3}
			h.send(ack)
		},
	} {
		inSotW(t, func(h *hand) {
			f(h)
			h.blamed(words)
		})
	}
}

// first asks for a resource that is there, and returns the response.
func (h *hand) first() *discoveryv3.DiscoveryResponse {
	h.t.Helper()
	h.Set(part, plain("a")...)
	h.send(&request{Node: node(), TypeUrl: part, ResourceNames: []string{"a"}})
	return h.sotw()
}

// TestPlainRequestAfterANACK expects a plain request after a NACK to be a violation. It is valid
// only if a request with other names may have changed the subscriptions since the last request that
// every server reads.
func TestPlainRequestAfterANACK(t *testing.T) {
	for _, others := range []bool{false, true} {
		inSotW(t, func(h *hand) {
			r := h.first()
			send := func(nonce string, rejects bool, names ...string) {
				req := &request{TypeUrl: part, ResourceNames: names, ResponseNonce: nonce, VersionInfo: r.GetVersionInfo()}
				if rejects {
					req.ErrorDetail = &rpcstatus.Status{Code: 3}
				}
				h.send(req)
			}
			send(r.GetNonce(), false, "a")
			h.Set(part, Resource{Name: "a", Body: []byte("bad")})
			words := "a request without any effect"
			if others { // with a nonce that a response has overtaken
				send(r.GetNonce(), false, "a", "b")
				send(r.GetNonce(), false, "a")
				words = ""
			}
			bad := h.sotw()
			send(bad.GetNonce(), true, "a")
			pass(time.Second) // the answers have not crossed this request
			send(bad.GetNonce(), false, "a")
			h.blamed(words)
		})
	}
}
