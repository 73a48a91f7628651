package sourced_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/sourced"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A network records the entries that a transport passes on. It speaks delta to the server "delta".
type network []string

// Dial implements [transport.Transport].
func (n *network) Dial(server *bootstrap.Server) (transport.Conn, error) {
	*n = append(*n, server.URI())
	return nil, nil
}

// Delta implements [transport.DeltaTransport].
func (*network) Delta(server *bootstrap.Server) bool { return server.URI() == "delta" }

// TestOtherServers expects the next transport to connect the entries without a scheme of a source.
func TestOtherServers(t *testing.T) {
	var next network
	memory := sourced.Memory(map[string]*source.Memory{"one": source.NewMemory()})
	tr := sourced.Transport(&next, memory)
	for uri, want := range map[string]struct{ passed, delta bool }{
		"memory:one": {false, true}, "memory": {true, false}, "dns:///memory:one": {true, false}, "delta": {true, true},
	} {
		s, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: uri, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := tr.Dial(s)
		if passed := slices.Contains(next, uri); err != nil || passed != want.passed {
			t.Errorf("Dial(%s) passes the entry on: %t, %v; want %t", uri, passed, err, want.passed)
		}
		if c != nil {
			_ = c.Close()
		}
		if delta := tr.(transport.DeltaTransport).Delta(s); delta != want.delta {
			t.Errorf("Delta(%s) = %t, want %t", uri, delta, want.delta)
		}
		if only := sourced.Transport(nil, memory).(transport.DeltaTransport); only.Delta(s) != (uri == "memory:one") {
			t.Errorf("without another transport, Delta(%s) = %t", uri, only.Delta(s))
		}
	}
}

// TestStreamsOfAMemory expects a stream to return whole messages, and errors of the connection in the end.
func TestStreamsOfAMemory(t *testing.T) {
	m := source.NewMemory()
	put(t, m, "a", 1)
	s, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: "memory:one"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := sourced.Transport(nil, sourced.Memory(map[string]*source.Memory{"one": m})).Dial(s)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.OpenStream(t.Context(), transport.MethodADS)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send([]byte{0xff}); !isUnavailable(err) {
		t.Errorf("a request that is not one has the error %v, want Unavailable", err)
	}
	if stream, err = c.OpenStream(t.Context(), transport.MethodADS); err != nil {
		t.Fatal(err)
	}
	request, err := proto.Marshal(&discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
	raw, err := stream.Receive()
	response := new(discoveryv3.DiscoveryResponse)
	if err != nil || proto.Unmarshal(raw, response) != nil || len(response.GetResources()) != 1 {
		t.Errorf("the response is %v, %v; want one with the cluster", response, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Receive(); !isUnavailable(err) {
		t.Errorf("a closed connection has the error %v, want Unavailable", err)
	}
	if _, err := c.OpenStream(t.Context(), transport.MethodADS); !isUnavailable(err) {
		t.Errorf("a stream on a closed connection has the error %v, want Unavailable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.SetState(source.State{})
	if c, err = sourced.Transport(nil, sourced.Memory(map[string]*source.Memory{"one": m})).Dial(s); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.OpenStream(ctx, transport.MethodADS); !errors.Is(err, context.Canceled) {
		t.Errorf("a stream that the client gives up has the error %v, want %v", err, context.Canceled)
	}
}

func isUnavailable(err error) bool {
	failure, ok := errors.AsType[*transport.Error](err)
	return ok && failure.Kind == "Unavailable"
}
