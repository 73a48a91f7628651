package memoryads_test

import (
	"context"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsmemory"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

const typeURL = "type.googleapis.com/test.Thing"

// A checked is a client of the core behind a checker, driven step by step.
type checked struct {
	t       *testing.T
	checker *memoryads.Checker
	conn    transport.Conn
	stream  transport.Stream
	memory  *source.Memory
}

func newChecked(t *testing.T, method string) *checked {
	t.Helper()
	c := &checked{t: t, memory: source.NewMemory()}
	c.put("a", "1")
	core, err := adsserver.New(adsserver.Config{Source: c.memory, Type: func(string) (adsserver.Type, bool) { return adsserver.Type{Complete: true}, true }})
	if err != nil {
		t.Fatal(err)
	}
	name := func(_ string, body []byte) string { name, _, _ := strings.Cut(string(body), "="); return name }
	c.checker = memoryads.NewChecker(adsmemory.Transport{Core: core}, name, memoryads.Type{URL: typeURL, Complete: true})
	if c.conn, err = c.checker.Dial(nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.conn.Close()
		_ = core.Close()
	})
	c.open(method)
	return c
}

func (c *checked) open(method string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	c.t.Cleanup(cancel)
	var err error
	if c.stream, err = c.conn.OpenStream(ctx, method); err != nil {
		c.t.Fatal(err)
	}
}

func (c *checked) put(name, value string) {
	c.t.Helper()
	r := source.Resource{Key: source.Key{Type: typeURL, Name: name}, Body: []byte(name + "=" + value)}
	if _, err := c.memory.Commit(c.t.Context(), new(source.Tx).Put(r)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *checked) send(m proto.Message) {
	c.t.Helper()
	raw, err := proto.Marshal(m)
	if err == nil {
		err = c.stream.Send(raw)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *checked) receive(m proto.Message) {
	c.t.Helper()
	raw, err := c.stream.Receive()
	if err == nil {
		err = proto.Unmarshal(raw, m)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// wants expects one violation with these words; none, if there are no words.
func (c *checked) wants(words string) {
	c.t.Helper()
	v := c.checker.Violations()
	if len(v) > 1 || (words == "") != (len(v) == 0) || !strings.Contains(strings.Join(v, "\n"), words) {
		c.t.Errorf("violations %q, want %q", v, words)
	}
}

func whole(version, nonce string, names ...string) *discoveryv3.DiscoveryRequest {
	return &discoveryv3.DiscoveryRequest{TypeUrl: typeURL, VersionInfo: version, ResponseNonce: nonce, ResourceNames: names}
}

// A correct client of the core has no violations, and each mistake is one.
func TestCheckerInTheStateOfTheWorld(t *testing.T) {
	for want, mistake := range map[string]func(c *checked, r *discoveryv3.DiscoveryResponse){
		"": func(c *checked, _ *discoveryv3.DiscoveryResponse) {
			c.put("a", "2")
			next := new(discoveryv3.DiscoveryResponse)
			c.receive(next)
			c.send(whole(next.GetVersionInfo(), next.GetNonce(), "a"))
			c.send(whole(next.GetVersionInfo(), next.GetNonce(), "a", "b"))
		},
		"was not sent on this stream": func(c *checked, r *discoveryv3.DiscoveryResponse) {
			c.send(whole(r.GetVersionInfo(), "other", "a"))
		},
		"without any effect": func(c *checked, r *discoveryv3.DiscoveryResponse) {
			c.send(whole(r.GetVersionInfo(), r.GetNonce(), "a"))
		},
		`version "0"`: func(c *checked, r *discoveryv3.DiscoveryResponse) { c.send(whole("0", r.GetNonce(), "a", "b")) },
		"a node in a stream's request": func(c *checked, r *discoveryv3.DiscoveryResponse) {
			m := whole(r.GetVersionInfo(), r.GetNonce(), "a", "b")
			m.Node = new(corev3.Node)
			c.send(m)
		},
		"which was accepted before": func(c *checked, r *discoveryv3.DiscoveryResponse) {
			m := whole(r.GetVersionInfo(), r.GetNonce(), "a")
			m.ErrorDetail = &rpcstatus.Status{Message: "no"}
			c.send(m)
		},
	} {
		t.Run(want, func(t *testing.T) {
			c := newChecked(t, transport.MethodADS)
			first := whole("", "", "a")
			first.Node = &corev3.Node{Id: "n"}
			c.send(first)
			r := new(discoveryv3.DiscoveryResponse)
			c.receive(r)
			c.send(whole(r.GetVersionInfo(), r.GetNonce(), "a"))
			mistake(c, r)
			c.wants(want)
		})
	}
}

func subscribe(names ...string) *discoveryv3.DeltaDiscoveryRequest {
	return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: names}
}

func TestCheckerInDelta(t *testing.T) {
	for want, mistake := range map[string]func(c *checked, version string){
		"": func(c *checked, version string) {
			c.open(transport.MethodDeltaADS)
			again := subscribe("a")
			again.Node, again.InitialResourceVersions = &corev3.Node{Id: "n"}, map[string]string{"a": version}
			c.send(again)
		},
		"which was never sent": func(c *checked, _ string) {
			c.open(transport.MethodDeltaADS)
			again := subscribe("a")
			again.Node, again.InitialResourceVersions = &corev3.Node{Id: "n"}, map[string]string{"a": "other"}
			c.send(again)
		},
		"is subscribed to again": func(c *checked, _ string) { c.send(subscribe("a")) },
		"is answered twice": func(c *checked, _ string) {
			c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResponseNonce: "1"})
		},
		"a subscription to everything": func(c *checked, _ string) {
			c.open(transport.MethodDeltaADS)
			c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, Node: &corev3.Node{Id: "n"}})
		},
	} {
		t.Run(want, func(t *testing.T) {
			c := newChecked(t, transport.MethodDeltaADS)
			first := subscribe("a")
			first.Node = &corev3.Node{Id: "n"}
			c.send(first)
			r := new(discoveryv3.DeltaDiscoveryResponse)
			c.receive(r)
			c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResponseNonce: r.GetNonce()})
			mistake(c, r.GetResources()[0].GetVersion())
			c.wants(want)
		})
	}
}
