package publish_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
)

func types(t *testing.T) *resource.Set {
	t.Helper()
	r := registry.New()
	standard.Register(r)
	builtin.Register(r)
	set, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func eds(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: new(corev3.AggregatedConfigSource)},
		}},
	}
}

func key(name string) publish.Key {
	return publish.Key{Type: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Name: name}
}

func TestPutAndDelete(t *testing.T) {
	m := source.NewMemory()
	s := publish.NewChecked(m, types(t))
	if r, err := publish.Put(t.Context(), s, cluster.Type(), eds("a")); r != 1 || err != nil {
		t.Fatalf("Put: %d, %v; want revision 1", r, err)
	}
	if r, _, ok := m.Get(key("a")); !ok || len(r.Body) == 0 {
		t.Fatalf("the store has %v", r)
	}
	if _, err := s.Commit(t.Context(), new(publish.Tx).If(key("a"), 7).Delete(key("a"))); !errors.Is(err, publish.ErrConflict) {
		t.Errorf("Commit: %v, want a conflict", err)
	}
	if r, err := publish.Delete(t.Context(), s, cluster.Type(), "a"); r != 2 || err != nil {
		t.Errorf("Delete: %d, %v; want revision 2", r, err)
	}
	if _, _, ok := m.Get(key("a")); ok {
		t.Error("the resource still exists")
	}
	if _, err := publish.PutNamed(t.Context(), m, cluster.Type(), "b", eds("b")); err != nil {
		t.Errorf("PutNamed: %v", err)
	}
}

// A transaction with invalid resources commits nothing, and its error has every violation.
func TestRejectedTransactions(t *testing.T) {
	m := source.NewMemory()
	s := publish.NewChecked(m, types(t))
	bad := eds("bad")
	bad.EdsClusterConfig = nil
	bad.LbPolicy = clusterv3.Cluster_MAGLEV
	tx := new(publish.Tx)
	for _, c := range []*clusterv3.Cluster{eds("good"), bad, eds("replaced")} {
		if err := publish.AddTo(tx, cluster.Type(), c); err != nil {
			t.Fatal(err)
		}
	}
	tx.Put(source.Resource{Key: key("other"), Body: body(t, eds("name"))})
	tx.Put(source.Resource{Key: publish.Key{Type: "type.googleapis.com/unknown.Type", Name: "x"}, Body: []byte{}})
	_, err := s.Commit(t.Context(), tx)
	var rejected *publish.Rejected
	if !errors.As(err, &rejected) || len(rejected.Resources) != 3 {
		t.Fatalf("Commit: %v, want 3 rejected resources", err)
	}
	var invalid *resource.ValidationError
	if !errors.As(rejected.Resources[0].Err, &invalid) || len(invalid.Violations) != 2 {
		t.Errorf("the first error is %v, want 2 violations", rejected.Resources[0].Err)
	}
	for _, want := range []string{`"Cluster" "bad"`, "eds_cluster_config", "lb_policy", `name = "name" in the message`, "unknown.Type"} {
		if !strings.Contains(err.Error(), strings.ReplaceAll(want, `"Cluster" "bad"`, `"bad"`)) {
			t.Errorf("the error lacks %s:\n%v", want, err)
		}
	}
	if !errors.Is(err, resource.ErrUnknownType) || m.Revision() != 0 {
		t.Errorf("revision %d after %v", m.Revision(), err)
	}
	fixed := new(publish.Tx) // the last operation on a key counts
	if err := errors.Join(publish.AddTo(fixed, cluster.Type(), bad), publish.AddTo(fixed, cluster.Type(), eds("bad"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), fixed); err != nil {
		t.Errorf("Commit: %v", err)
	}
}

func body(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// References may lead to the transaction or to the store.
func TestReferences(t *testing.T) {
	m := source.NewMemory()
	s := publish.NewChecked(m, types(t), publish.WithReferences())
	put := func(tx *publish.Tx, name string) *publish.Tx {
		if err := publish.AddTo(tx, cluster.Type(), eds(name)); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	assignment := func(tx *publish.Tx, name string) *publish.Tx {
		if err := publish.AddTo(tx, endpoint.Type(), &endpointv3.ClusterLoadAssignment{ClusterName: name}); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	commit := func(tx *publish.Tx) error { _, err := s.Commit(t.Context(), tx); return err }
	if err := commit(put(new(publish.Tx), "a")); err == nil || !strings.Contains(err.Error(), "dangling reference") || m.Revision() != 0 {
		t.Errorf("Commit: %v, want a dangling reference", err)
	}
	if err := commit(assignment(put(new(publish.Tx), "a"), "a")); err != nil {
		t.Errorf("Commit with the assignment: %v", err)
	}
	if err := commit(put(new(publish.Tx), "a")); err != nil {
		t.Errorf("Commit with the assignment in the store: %v", err)
	}
	endpoints := publish.Key{Type: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", Name: "a"}
	if err := commit(put(new(publish.Tx), "a").Delete(endpoints)); err == nil {
		t.Error("a transaction deletes the assignment of its cluster")
	}
	if _, err := publish.NewChecked(plain{m}, types(t), publish.WithReferences()).Commit(t.Context(), new(publish.Tx)); err == nil {
		t.Error("references are checked without a store that can be read")
	}
}

// remote is a store that is read by requests.
type remote struct {
	publish.Store
	err error
}

// Lookup returns a resource.
func (r remote) Lookup(_ context.Context, k publish.Key) (source.Resource, publish.Revision, error) {
	x, revision, _ := r.Store.(*source.Memory).Get(k)
	return x, revision, r.err
}

// References may lead to a store that is read by requests. A request that fails is the error of the commit.
func TestReferencesToARemoteStore(t *testing.T) {
	m := source.NewMemory()
	tx := new(publish.Tx)
	if err := publish.AddTo(tx, cluster.Type(), eds("a")); err != nil {
		t.Fatal(err)
	}
	s := publish.NewChecked(remote{Store: m}, types(t), publish.WithReferences())
	var rejected *publish.Rejected
	if _, err := s.Commit(t.Context(), tx); !errors.As(err, &rejected) {
		t.Errorf("Commit: %v, want a dangling reference", err)
	}
	lost := errors.New("the store is lost")
	if _, err := publish.NewChecked(remote{m, lost}, types(t), publish.WithReferences()).Commit(t.Context(), tx); !errors.Is(err, lost) || errors.As(err, &rejected) {
		t.Errorf("Commit: %v, want the error of the store", err)
	}
	if _, err := endpoint.Put(t.Context(), m, &endpointv3.ClusterLoadAssignment{ClusterName: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), tx); err != nil {
		t.Errorf("Commit with the assignment in the store: %v", err)
	}
}

// plain is a store that cannot be read.
type plain struct{ publish.Store }

func TestMisuse(t *testing.T) {
	ctx, m := context.Background(), source.NewMemory()
	for name, f := range map[string]func() error{
		"another message": func() error {
			_, err := publish.Put(ctx, m, cluster.Type(), new(endpointv3.ClusterLoadAssignment))
			return err
		},
		"no name":         func() error { _, err := publish.Put(ctx, m, cluster.Type(), new(clusterv3.Cluster)); return err },
		"no message":      func() error { _, err := publish.PutNamed(ctx, m, cluster.Type(), "a", nil); return err },
		"nil message":     func() error { _, err := cluster.Put(ctx, m, nil); return err },
		"no type":         func() error { _, err := publish.Put(ctx, m, nil, eds("a")); return err },
		"no type, named":  func() error { _, err := publish.PutNamed(ctx, m, nil, "a", eds("a")); return err },
		"no type, delete": func() error { _, err := publish.Delete(ctx, m, nil, "a"); return err },
	} {
		if err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if m.Revision() != 0 {
		t.Errorf("revision = %d after misuse", m.Revision())
	}
}
