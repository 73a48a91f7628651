package etcd

import (
	"context"
	"log/slog"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// chunkKV has one chunk, which is at the first key that is read.
type chunkKV struct {
	clientv3.KV
	chunk *discoveryv3.DeltaDiscoveryResponse
}

// Get implements [clientv3.KV].
func (kv *chunkKV) Get(_ context.Context, key string, _ ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if key[len(key)-1] != '/' {
		return new(clientv3.GetResponse), nil
	}
	data, err := proto.Marshal(kv.chunk)
	return &clientv3.GetResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(key + "000000"), Value: data}}}, err
}

// Events of resources that arrive together with a large transaction precede it, or copy it. The transaction takes
// precedence.
func TestLargeTransactionsTakePrecedenceOverEvents(t *testing.T) {
	s, err := Open(Options{Endpoints: []string{"127.0.0.1:1"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	event := func(name, body string, revision int64) *clientv3.Event {
		w, err := wrap(&source.Resource{Key: source.Key{Type: clusterURL, Name: name}, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		data, err := encode(w)
		if err != nil {
			t.Fatal(err)
		}
		return &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte(s.keys.resource(source.Key{Type: clusterURL, Name: name})), Value: data, ModRevision: revision}}
	}
	w, err := wrap(&source.Resource{Key: source.Key{Type: clusterURL, Name: "changed"}, Body: []byte("new")})
	if err != nil {
		t.Fatal(err)
	}
	kv := &chunkKV{chunk: &discoveryv3.DeltaDiscoveryResponse{Resources: []*discoveryv3.Resource{w}, RemovedResources: []string{clusterURL + "/gone"}}}
	events := map[string]*clientv3.Event{
		s.keys.batch:      {Kv: &mvccpb.KeyValue{Key: []byte(s.keys.batch), Value: []byte(`{"ID": "x"}`), ModRevision: 9}},
		s.keys.generation: {Kv: &mvccpb.KeyValue{Key: []byte(s.keys.generation), Value: []byte(`{"id": "x"}`), ModRevision: 9}},
	}
	for _, e := range []*clientv3.Event{event("changed", "old", 7), event("gone", "old", 8), event("other", "kept", 8)} {
		events[string(e.Kv.Key)] = e
	}
	if err := s.follow.applyEvents(t.Context(), &clientv3.Client{KV: kv}, events, 9); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"changed": "new", "gone": "", "other": "kept"} {
		if got, _, _ := s.follow.memory.Get(source.Key{Type: clusterURL, Name: name}); string(got.Body) != want {
			t.Errorf("%s = %q; want %q", name, got.Body, want)
		}
	}
	if st := s.Status(); st.Revision != 9 || st.Resources != 2 || st.Invalid != 0 {
		t.Errorf("status = %+v; want two resources at revision 9", st)
	}
}
