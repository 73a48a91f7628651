package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

func encode(t *testing.T, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func clusters(t *testing.T, names ...string) []*anypb.Any {
	t.Helper()
	var list []*anypb.Any
	for _, n := range names {
		a, err := anypb.New(&clusterv3.Cluster{Name: n})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// recording is a session in which the client asks for a, and after the first response for b.
func recording(t *testing.T) []Message {
	t.Helper()
	m := func(at float64, kind Direction, p proto.Message) Message {
		return Message{Seconds: at, Server: "plane", Stream: 1, Method: transport.MethodADS, Kind: kind, Bytes: encode(t, p)}
	}
	return []Message{
		{Server: "plane", Stream: 1, Method: transport.MethodADS, Kind: Opened},
		m(0, Sent, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: []string{"a"}, Node: &corev3.Node{Id: "n"}}),
		m(1, Received, &discoveryv3.DiscoveryResponse{TypeUrl: clusterURL, VersionInfo: "1", Nonce: "x", Resources: clusters(t, "a")}),
		m(1, Sent, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: []string{"a"}, VersionInfo: "1", ResponseNonce: "x"}),
		m(2, Sent, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: []string{"a", "b"}, VersionInfo: "1", ResponseNonce: "x"}),
		m(3, Received, &discoveryv3.DiscoveryResponse{TypeUrl: clusterURL, VersionInfo: "2", Nonce: "y", Resources: clusters(t, "a", "b")}),
	}
}

func TestFile(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := recording(t)
	for _, m := range want {
		w.Write(m)
	}
	got, err := Read(bytes.NewReader(b.Bytes()))
	if err != nil || w.Err() != nil || len(got) != len(want) {
		t.Fatalf("Read = %d messages, %v, %v; want %d", len(got), err, w.Err(), len(want))
	}
	for i := range got {
		if got[i].Kind != want[i].Kind || !bytes.Equal(got[i].Bytes, want[i].Bytes) || got[i].Summary == "" {
			t.Errorf("message %d = %+v; want %+v with a summary", i, got[i], want[i])
		}
	}
	for text, rule := range map[string]string{
		"":                         "empty",
		"{}\n":                     "xdsctl_record = 0; must be 1",
		`{"xdsctl_record": 2}`:     "xdsctl_record = 2; must be 1",
		"{\"xdsctl_record\":1}\nx": "line 2: ",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("Read(%q): %v; want %q", text, err, rule)
		}
	}
}

func TestDescribe(t *testing.T) {
	reject := &rpcstatus.Status{Message: "no"}
	for _, tt := range []struct {
		method string
		kind   Direction
		m      proto.Message
		want   string
	}{
		{transport.MethodADS, Sent, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: []string{"a"}, Node: &corev3.Node{Id: "n"}}, `request Cluster ["a"] of node "n"`},
		{transport.MethodADS, Sent, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: "x", VersionInfo: "1"}, `ACK of nonce x Cluster version 1`},
		{transport.MethodADS, Sent, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: "x", ErrorDetail: reject}, `NACK of nonce x Cluster: no`},
		{transport.MethodADS, Received, &discoveryv3.DiscoveryResponse{TypeUrl: clusterURL, Nonce: "x", VersionInfo: "1", ControlPlane: &corev3.ControlPlane{Identifier: "p"}}, `response Cluster version 1 nonce x: 0 resources, of control plane "p"`},
		{transport.MethodDeltaADS, Sent, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a"}, ResourceNamesUnsubscribe: []string{"b"}, InitialResourceVersions: map[string]string{"a": "1"}}, `request Cluster +["a"] -["b"] with 1 known`},
		{transport.MethodDeltaADS, Sent, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: "x", ErrorDetail: reject}, `NACK of nonce x Cluster: no`},
		{transport.MethodDeltaADS, Received, &discoveryv3.DeltaDiscoveryResponse{TypeUrl: clusterURL, Nonce: "x", SystemVersionInfo: "1", RemovedResources: []string{"a"}}, `response Cluster version 1 nonce x: 0 resources, 1 removed`},
	} {
		if got := Describe(Message{Method: tt.method, Kind: tt.kind, Bytes: encode(t, tt.m)}); got != tt.want {
			t.Errorf("Describe = %s; want %s", got, tt.want)
		}
	}
	if got := Describe(Message{Method: transport.MethodADS, Kind: Sent, Bytes: []byte("\xff")}); !strings.HasPrefix(got, "1 bytes that cannot be read") {
		t.Errorf("Describe of bad bytes = %s", got)
	}
}

// A pipe is a stream between a replay and a test.
type pipe struct {
	requests  chan []byte
	responses chan []byte
	ctx       context.Context //nolint:containedctx // of the stream
}

func (p *pipe) Send(msg []byte) error {
	p.responses <- slices.Clone(msg)
	return nil
}

func (p *pipe) Receive() ([]byte, error) {
	select {
	case msg, ok := <-p.requests:
		if !ok {
			return nil, io.EOF
		}
		return msg, nil
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	}
}

// played runs f with a stream of a replay, in a bubble.
func played(t *testing.T, timing bool, f func(t *testing.T, ask func(nonce string, names ...string), next func() *discoveryv3.DiscoveryResponse)) {
	t.Helper()
	list := recording(t)
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		r, err := NewReplay(list, "")
		if err != nil {
			t.Fatal(err)
		}
		r.Timing = timing
		ctx, cancel := context.WithCancel(t.Context())
		p := &pipe{make(chan []byte), make(chan []byte, 10), ctx}
		done := make(chan error)
		go func() { done <- r.Handle(ctx, transport.MethodADS, p) }()
		f(t, func(nonce string, names ...string) {
			p.requests <- encode(t, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: nonce, ResourceNames: names})
		}, func() *discoveryv3.DiscoveryResponse {
			synctest.Wait()
			select {
			case data := <-p.responses:
				m := new(discoveryv3.DiscoveryResponse)
				if err := proto.Unmarshal(data, m); err != nil {
					t.Fatal(err)
				}
				return m
			default:
				return nil
			}
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Handle = %v; want the end of the stream", err)
		}
	})
}

// A response waits for a request, for the answer to the last one, and for its names.
func TestReplayWaits(t *testing.T) {
	played(t, false, func(t *testing.T, ask func(string, ...string), next func() *discoveryv3.DiscoveryResponse) {
		if m := next(); m != nil {
			t.Errorf("a response before any request: %v", m)
		}
		ask("", "a")
		if m := next(); m.GetNonce() != "x" {
			t.Errorf("first response = %v; want nonce x", m)
		}
		ask("old", "a", "b")
		if m := next(); m != nil {
			t.Errorf("a response before the answer to the last one: %v", m)
		}
		ask("x", "a")
		if m := next(); m.GetNonce() != "y" {
			t.Errorf("second response = %v; want nonce y", m)
		}
	})
	played(t, false, func(t *testing.T, ask func(string, ...string), next func() *discoveryv3.DiscoveryResponse) {
		ask("", "a")
		next()
		ask("x", "a")
		if m := next(); m != nil {
			t.Errorf("a response for names that the client has not asked for: %v", m)
		}
		ask("x", "a", "b")
		if m := next(); m.GetNonce() != "y" {
			t.Errorf("second response = %v; want nonce y", m)
		}
	})
}

// A client that asks for the names in another order gets all of them.
func TestReplayInAnotherOrder(t *testing.T) {
	played(t, false, func(t *testing.T, ask func(string, ...string), next func() *discoveryv3.DiscoveryResponse) {
		ask("", "b")
		if m := next(); m.GetNonce() != "x" {
			t.Errorf("first response = %v; want nonce x, because b is in the second one", m)
		}
		ask("x", "b")
		if m := next(); m.GetNonce() != "y" {
			t.Errorf("second response = %v; want nonce y", m)
		}
	})
}

// A name that the client asks for after the end gets the newest content.
func TestReplayRepeats(t *testing.T) {
	played(t, false, func(t *testing.T, ask func(string, ...string), next func() *discoveryv3.DiscoveryResponse) {
		ask("", "*")
		next()
		ask("x", "*")
		next()
		ask("y", "*")
		if m := next(); m != nil {
			t.Errorf("a response after the end: %v", m)
		}
		ask("y", "late")
		if m := next(); m.GetNonce() != "repeated-1" || len(m.GetResources()) != 2 || m.GetVersionInfo() != "2" {
			t.Errorf("response = %v; want the last content again", m)
		}
	})
}

func TestReplayTiming(t *testing.T) {
	played(t, true, func(t *testing.T, ask func(string, ...string), next func() *discoveryv3.DiscoveryResponse) {
		began := time.Now()
		ask("", "a")
		if m := next(); m != nil {
			t.Errorf("a response before its time: %v", m)
		}
		timer := time.NewTimer(time.Second)
		<-timer.C
		if m := next(); m.GetNonce() != "x" || time.Since(began) != time.Second {
			t.Errorf("response after %s = %v; want nonce x after 1s", time.Since(began), m)
		}
	})
}

func TestReplayRejects(t *testing.T) {
	two := append(recording(t), Message{Server: "other", Kind: Opened, Method: transport.MethodADS})
	for _, tt := range []struct {
		list   []Message
		server string
		rule   string
	}{
		{nil, "", "no messages"},
		{two, "", `must be one of the control planes of the recording: ["plane" "other"]`},
		{two, "third", `--server = "third"`},
		{[]Message{{Kind: Received, Method: transport.MethodADS, Bytes: []byte("\xff")}}, "", "message 1: "},
	} {
		if _, err := NewReplay(tt.list, tt.server); err == nil || !strings.Contains(err.Error(), tt.rule) {
			t.Errorf("NewReplay: %v; want %q", err, tt.rule)
		}
	}
	r, err := NewReplay(two, "plane")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Handle(t.Context(), transport.MethodDeltaADS, nil); !errors.Is(err, transport.ErrUnimplemented) {
		t.Errorf("Handle of another variant: %v; want ErrUnimplemented", err)
	}
}

// In the incremental variant, a repetition has only the names that are missing.
func TestRepeatDelta(t *testing.T) {
	r := func(name, version string) *discoveryv3.Resource {
		return &discoveryv3.Resource{Name: name, Version: version}
	}
	sent := [][]byte{
		encode(t, &discoveryv3.DeltaDiscoveryResponse{TypeUrl: clusterURL, Resources: []*discoveryv3.Resource{r("a", "1"), r("b", "1")}}),
		encode(t, &discoveryv3.DeltaDiscoveryResponse{TypeUrl: clusterURL, Resources: []*discoveryv3.Resource{r("a", "2")}, RemovedResources: []string{"c"}}),
	}
	m, err := repeatDelta(sent, []string{"a", "c", "d"}, "n")
	got, _ := m.(*discoveryv3.DeltaDiscoveryResponse)
	if err != nil || len(got.GetResources()) != 1 || got.GetResources()[0].GetVersion() != "2" || !slices.Equal(got.GetRemovedResources(), []string{"c"}) || got.GetTypeUrl() != clusterURL {
		t.Errorf("repeatDelta = %v, %v; want a at version 2, and c removed", got, err)
	}
	if m, err := repeatDelta(sent, []string{"d"}, "n"); m != nil || err != nil {
		t.Errorf("repeatDelta of an unknown name = %v, %v; want nothing", m, err)
	}
}

// In the state of the world, a repetition of a type without complete responses has all resources.
func TestRepeatState(t *testing.T) {
	const url = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	sent := [][]byte{
		encode(t, &discoveryv3.DiscoveryResponse{TypeUrl: url, VersionInfo: "1", Resources: clusters(t, "a", "b")}),
		encode(t, &discoveryv3.DiscoveryResponse{TypeUrl: url, VersionInfo: "2", Resources: clusters(t, "a")}),
	}
	m, err := repeatState(sent, "n")
	got, _ := m.(*discoveryv3.DiscoveryResponse)
	if err != nil || len(got.GetResources()) != 2 || got.GetVersionInfo() != "2" || got.GetNonce() != "n" {
		t.Errorf("repeatState = %v, %v; want a and b at version 2", got, err)
	}
}
