package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A minimal client, or a skipping one. It walks responses in place. It sends one request for each
// change of its names, and each ACK in a request of its own.
type minimal struct {
	conn    transport.Conn
	stream  transport.Stream
	node    []byte
	delta   bool
	skips   bool
	handled chan string // type URLs of responses

	mu    sync.Mutex
	types map[string]*minimalType // by URL
}

// A minimalType is the state of one type.
type minimalType struct {
	url            string
	names          []string
	encoded        []byte // names, for requests
	version, nonce string
	callbacks      map[string]func()
	decoded        map[string]proto.Message
	raw            map[string][]byte
}

func newMinimal(ctx context.Context, addr string, delta, skips bool) (*minimal, error) {
	config, err := configOf(addr)
	if err != nil {
		return nil, err
	}
	conn, err := grpctransport.New().Dial(config.Servers()[0])
	if err != nil {
		return nil, err
	}
	method := transport.MethodADS
	if delta {
		method = transport.MethodDeltaADS
	}
	stream, err := conn.OpenStream(ctx, method)
	if err != nil {
		return nil, err
	}
	node, err := proto.Marshal(&corev3.Node{Id: nodeID})
	m := &minimal{conn: conn, stream: stream, node: node, delta: delta, skips: skips, handled: make(chan string, 1000), types: make(map[string]*minimalType)}
	for _, url := range []string{resourcev3.ClusterType, resourcev3.EndpointType} {
		m.types[url] = &minimalType{url: url, callbacks: make(map[string]func()), decoded: make(map[string]proto.Message), raw: make(map[string][]byte)}
	}
	return m, err
}

func configOf(addr string) (*bootstrap.Config, error) {
	return bootstrap.New(bootstrap.Spec{
		Node:    &corev3.Node{Id: nodeID},
		Servers: []bootstrap.ServerSpec{{URI: addr, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}}},
	})
}

// watch adds a name. The caller calls ask afterwards.
func (m *minimal) watch(url, name string, f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.types[url]
	t.callbacks[name] = f
	t.names = append(t.names, name)
}

// unwatch removes names, and sends the request for that. Without names it removes all.
func (m *minimal) unwatch(url string, names ...string) error {
	m.mu.Lock()
	t := m.types[url]
	if names == nil {
		names = t.names
		t.names = nil
	}
	for _, name := range names {
		delete(t.callbacks, name)
		delete(t.decoded, name)
		delete(t.raw, name)
		if i := slices.Index(t.names, name); i >= 0 {
			t.names = slices.Delete(t.names, i, i+1)
		}
	}
	m.mu.Unlock()
	return m.ask(url)
}

// ask sends a request with the names of a type.
func (m *minimal) ask(url string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.types[url]
	node := m.node
	m.node = nil
	if m.delta {
		req := envelope.DeltaRequest{Node: node, TypeURL: url, Subscribe: t.names}
		return m.stream.Send(req.Encode())
	}
	t.encoded = envelope.EncodeNames(t.names)
	return m.stream.Send(t.request(node))
}

func (t *minimalType) request(node []byte) []byte {
	req := envelope.Request{Node: node, TypeURL: t.url, Version: t.version, Nonce: t.nonce, Encoded: t.encoded}
	return req.Encode()
}

// run reads responses until the stream ends.
func (m *minimal) run() error {
	var resp envelope.Response
	for {
		pieces, err := m.stream.(transport.PieceReceiver).ReceivePieces()
		if err == nil {
			err = resp.ParsePieces(pieces, m.delta)
		}
		if err == nil {
			err = m.response(&resp)
		}
		if err != nil {
			return err
		}
		m.handled <- resp.TypeURL
	}
}

// response handles a response and acknowledges it.
func (m *minimal) response(resp *envelope.Response) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.types[resp.TypeURL]
	if t == nil {
		return fmt.Errorf("a response of type %s", resp.TypeURL)
	}
	for r := range resp.Resources() {
		if err := t.resource(r.Body, m.skips); err != nil {
			return err
		}
	}
	if m.delta {
		ack := envelope.DeltaRequest{TypeURL: t.url, Nonce: resp.Nonce}
		return m.stream.Send(ack.Encode())
	}
	t.version, t.nonce = resp.Version, resp.Nonce
	return m.stream.Send(t.request(nil))
}

// resource reads a resource whose message starts with its name, as those of both types do.
func (t *minimalType) resource(body []byte, skips bool) error {
	_, _, n := protowire.ConsumeTag(body)
	name, _ := protowire.ConsumeBytes(body[n:])
	if skips {
		if bytes.Equal(t.raw[string(name)], body) {
			return nil
		}
		t.raw[string(name)] = bytes.Clone(body)
	}
	var message proto.Message = new(clusterv3.Cluster)
	if t.url == resourcev3.EndpointType {
		message = new(endpointv3.ClusterLoadAssignment)
	}
	if err := proto.Unmarshal(body, message); err != nil {
		return err
	}
	t.decoded[string(name)] = message
	if f := t.callbacks[string(name)]; f != nil {
		f()
	}
	return nil
}
