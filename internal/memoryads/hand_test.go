package memoryads

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	whole = "type.googleapis.com/test.Whole" // complete
	part  = "type.googleapis.com/test.Part"
	wild  = "type.googleapis.com/test.Wild"
)

func newTestServer() *Server {
	return NewServer(Type{URL: whole, Complete: true}, Type{URL: part}, Type{URL: wild, Wildcard: true})
}

// A hand is a client that is driven step by step.
type hand struct {
	t *testing.T
	*Server
	conn   transport.Conn
	stream transport.Stream
	cancel context.CancelFunc
}

func newHand(t *testing.T, s *Server, method string) *hand {
	t.Helper()
	entry, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: "memory:1", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Network{"memory:1": s}.Dial(entry)
	if err != nil {
		t.Fatal(err)
	}
	h := &hand{t: t, Server: s, conn: c}
	h.open(method)
	t.Cleanup(func() { _ = c.Close() })
	return h
}

func (h *hand) open(method string) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	h.t.Cleanup(cancel)
	var err error
	if h.stream, err = h.conn.OpenStream(ctx, method); err != nil {
		h.t.Fatal(err)
	}
	h.cancel = cancel
}

func (h *hand) send(m proto.Message) {
	h.t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.stream.Send(raw); err != nil {
		h.t.Fatal(err)
	}
}

// try receives the next message. It returns ok = false if there is none.
func (h *hand) try(into proto.Message) (ok bool) {
	h.t.Helper()
	type received struct {
		raw []byte
		err error
	}
	ch := make(chan received, 1)
	s := h.stream
	go func() {
		raw, err := s.Receive()
		ch <- received{raw, err}
	}()
	synctest.Wait()
	select {
	case r := <-ch:
		if r.err != nil {
			h.t.Fatal(r.err)
		}
		if err := proto.Unmarshal(r.raw, into); err != nil {
			h.t.Fatal(err)
		}
		return true
	default:
		h.cancel() // the stream is of no use with somebody who receives from it
		<-ch
		synctest.Wait() // the server knows
		return false
	}
}

func (h *hand) sotw() *discoveryv3.DiscoveryResponse {
	h.t.Helper()
	r := new(discoveryv3.DiscoveryResponse)
	if !h.try(r) {
		h.t.Fatal("no response")
	}
	return r
}

func (h *hand) delta() *discoveryv3.DeltaDiscoveryResponse {
	h.t.Helper()
	r := new(discoveryv3.DeltaDiscoveryResponse)
	if !h.try(r) {
		h.t.Fatal("no response")
	}
	return r
}

// quiet ends the stream, on which nothing may be left to receive.
func (h *hand) quiet() {
	h.t.Helper()
	r := new(discoveryv3.DiscoveryResponse)
	if h.try(r) {
		h.t.Fatalf("response %v, want none", r)
	}
}

// blamed expects one violation with these words; none, if there are no words.
func (h *hand) blamed(words string) {
	h.t.Helper()
	v := h.Violations()
	if (words == "") != (len(v) == 0) || !strings.Contains(strings.Join(v, "\n"), words) {
		h.t.Errorf("violations: %q, want %q", v, words)
	}
}

// pass lets time pass.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func node() *corev3.Node { return &corev3.Node{Id: "n"} }

// values are the resources of a response, as "name" or "name=body".
func values(r *discoveryv3.DiscoveryResponse) (out []string) {
	for _, a := range r.GetResources() {
		if w := new(discoveryv3.Resource); a.MessageIs(w) {
			_ = a.UnmarshalTo(w)
			out = append(out, w.GetName()+"="+string(w.GetResource().GetValue()))
			continue
		}
		out = append(out, string(a.GetValue()))
	}
	return out
}

func wants(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func plain(names ...string) (rs []Resource) {
	for _, n := range names {
		rs = append(rs, Resource{Name: n, Body: []byte(n)})
	}
	return rs
}
