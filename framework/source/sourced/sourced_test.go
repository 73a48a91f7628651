package sourced_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/sourced"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

func key(name string) source.Key { return source.Key{Type: clusterURL, Name: name} }

// put commits a cluster with a limit of concurrent calls.
func put(t *testing.T, m *source.Memory, name string, limit uint32) {
	t.Helper()
	c := &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{
			EdsConfig:   &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}},
			ServiceName: "endpoints",
		},
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(limit)}}},
	}
	if limit == 0 {
		c.EdsClusterConfig = nil // invalid
	}
	body, err := proto.Marshal(c)
	if err == nil {
		_, err = m.Commit(t.Context(), new(source.Tx).Put(source.Resource{Key: key(name), Body: body}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, m *source.Memory, name string) {
	t.Helper()
	if _, err := m.Commit(t.Context(), new(source.Tx).Delete(key(name))); err != nil {
		t.Fatal(err)
	}
}

// newClient returns a client of a bootstrap whose servers are memories.
func newClient(t *testing.T, config string, memories map[string]*source.Memory) *xdsforge.Client {
	t.Helper()
	b, err := bootstrap.Parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(b), xdsforge.WithTypes(cluster.Register),
		xdsforge.WithTransport(sourced.Transport(nil, sourced.Memory(memories))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// An eventLog has the events of a watch as texts.
type eventLog struct {
	mu   sync.Mutex
	list []string
}

func (l *eventLog) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, text)
}

// take returns the events since the last call.
func (l *eventLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// drop forgets the oldest event if it has this text.
func (l *eventLog) drop(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) > 0 && l.list[0] == text {
		l.list = l.list[1:]
	}
}

// watch records the events of a cluster.
func watch(t *testing.T, c *xdsforge.Client, name string) *eventLog {
	t.Helper()
	events := new(eventLog)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		for ev := range cluster.Watch(ctx, c, name) {
			switch {
			case ev.Err != nil:
				events.add(fmt.Sprint("error ", kindOf(ev.Err)))
			case ev.Ambient != nil:
				events.add(fmt.Sprint(ev.Update.MaxRequests, " beside ", kindOf(ev.Ambient)))
			default:
				events.add(fmt.Sprint(ev.Update.MaxRequests))
			}
		}
	}()
	synctest.Wait()
	return events
}

func kindOf(err error) string {
	switch {
	case errors.Is(err, xdsforge.ErrTransport):
		return "transport"
	case errors.Is(err, xdsforge.ErrInvalid):
		return "invalid"
	case errors.Is(err, xdsforge.ErrRemoved):
		return "removed"
	case errors.Is(err, xdsforge.ErrNotFound):
		return "not found"
	}
	return err.Error()
}

func pass(d time.Duration) { <-time.NewTimer(d).C; synctest.Wait() }

func wantEvents(t *testing.T, events *eventLog, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := events.take(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

const one = `{"xds_servers": [{"server_uri": "memory:one"}], "node": {"id": "me"}}`

func TestAClientFollowsAMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := source.NewMemory()
		put(t, m, "a", 1)
		c := newClient(t, one, map[string]*source.Memory{"one": m})
		a, b := watch(t, c, "a"), watch(t, c, "b")
		wantEvents(t, a, "1")
		wantEvents(t, b, "error not found") // at once, and not after a timer
		put(t, m, "a", 2)
		put(t, m, "b", 3)
		wantEvents(t, a, "2")
		wantEvents(t, b, "3")
		remove(t, m, "b")
		wantEvents(t, a)
		wantEvents(t, b, "3 beside removed")
	})
}

// A source that is down is a failure of the connection. It removes nothing.
func TestASourceThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := source.NewMemory()
		put(t, m, "a", 1)
		c := newClient(t, one, map[string]*source.Memory{"one": m})
		a := watch(t, c, "a")
		wantEvents(t, a, "1")
		m.SetState(source.State{Kind: source.Down, Err: errors.New("the disk is gone")})
		put(t, m, "a", 2)
		pass(time.Minute)
		wantEvents(t, a, "1 beside transport")
		late := watch(t, c, "late")
		wantEvents(t, late, "error transport")
		m.SetState(source.State{Kind: source.Live})
		pass(3 * time.Minute)
		a.drop("1") // the watch may see the end of the outage before the new version
		wantEvents(t, a, "2")
		wantEvents(t, late, "error not found")
	})
}

// A source without a state is a server that grants no stream.
func TestASourceWithoutAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := source.NewMemory()
		m.SetState(source.State{})
		c := newClient(t, one, map[string]*source.Memory{"one": m})
		a := watch(t, c, "a")
		pass(19 * time.Second)
		wantEvents(t, a)
		pass(2 * time.Second)
		wantEvents(t, a, "error transport")
	})
}

// An authority falls back to its second source, and returns to the first (gRFC A71).
func TestFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := source.NewMemory(), source.NewMemory()
		put(t, first, "a", 1)
		put(t, second, "a", 2)
		first.SetState(source.State{Kind: source.Down, Err: errors.New("not mounted")})
		c := newClient(t, `{"xds_servers": [{"server_uri": "memory:first"}, {"server_uri": "memory:second"}]}`,
			map[string]*source.Memory{"first": first, "second": second})
		a := watch(t, c, "a")
		wantEvents(t, a, "2")
		first.SetState(source.State{Kind: source.Live})
		pass(time.Minute)
		wantEvents(t, a, "1")
	})
}

// Each authority has a source of its own (gRFC A47).
func TestFederation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const name = "xdstp://other/envoy.config.cluster.v3.Cluster/a"
		first, other := source.NewMemory(), source.NewMemory()
		put(t, first, name, 1) // it has no say about another authority
		put(t, other, name, 2)
		put(t, first, "a", 3)
		c := newClient(t, `{"xds_servers": [{"server_uri": "memory:first"}], "authorities": {"other": {"xds_servers": [{"server_uri": "memory:other"}]}}}`,
			map[string]*source.Memory{"first": first, "other": other})
		wantEvents(t, watch(t, c, name), "2")
		wantEvents(t, watch(t, c, "a"), "3")
	})
}

// A rejection reaches the source with its reason, and the snapshot of the client shows it.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := source.NewMemory()
		var mu sync.Mutex
		var rejections []source.Rejection
		m.OnReport(func(r source.Rejection) {
			mu.Lock()
			defer mu.Unlock()
			rejections = append(rejections, r)
		})
		put(t, m, "a", 0)
		c := newClient(t, one, map[string]*source.Memory{"one": m})
		wantEvents(t, watch(t, c, "a"), "error invalid")
		mu.Lock()
		defer mu.Unlock()
		if len(rejections) != 1 || !slices.Equal(rejections[0].Names, []string{"a"}) || rejections[0].Node != "me" ||
			rejections[0].Type != clusterURL || !strings.Contains(rejections[0].Text, "eds_cluster_config") {
			t.Errorf("rejections = %+v, want one of a by me", rejections)
		}
		s, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(s); err != nil || !strings.Contains(string(text), "eds_cluster_config") {
			t.Errorf("the snapshot lacks the rejection: %s", text)
		}
	})
}

// A watch of a resource in an invalid file gets the error with its position. Other resources are not
// affected.
func TestAnInvalidFile(t *testing.T) {
	const file = `
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: bad
  type: EDS
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: good
  type: EDS
  eds_cluster_config: {eds_config: {ads: {}}, service_name: endpoints}
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "clusters.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": "file://%s?quiet=1ms"}]}`, filepath.ToSlash(dir)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(b), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := func(name string) resource.Event[*cluster.Update] {
		for ev := range cluster.Watch(t.Context(), c, name) {
			return ev
		}
		t.Errorf("the watch of %s ends without an event", name)
		return resource.Event[*cluster.Update]{}
	}
	const want = "clusters.yaml:2:3: eds_cluster_config.eds_config; must "
	if ev := first("bad"); !errors.Is(ev.Err, xdsforge.ErrUnavailable) || !strings.Contains(ev.Err.Error(), want) {
		t.Errorf("the watch of the invalid cluster has %v, want an error with %s", ev.Err, want)
	}
	if ev := first("good"); ev.Update == nil || ev.Err != nil {
		t.Errorf("the watch of the valid cluster has %v, want an update", ev.Err)
	}
	if ev := first("other"); !errors.Is(ev.Err, xdsforge.ErrNotFound) {
		t.Errorf("the watch of a cluster without a file has %v, want %v", ev.Err, xdsforge.ErrNotFound)
	}
}

func TestUnusableEntries(t *testing.T) {
	tr := sourced.Transport(nil, sourced.Memory(nil))
	for uri, want := range map[string]string{
		"memory:one":    `memory = "one"`,
		"other:///path": "scheme",
	} {
		s, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: uri, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Dial(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Dial(%s): %v, want an error about %s", uri, err, want)
		}
	}
}

// A source has ADS alone: no load reports.
func TestOtherMethods(t *testing.T) {
	s, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: "Memory:one"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := sourced.Transport(nil, sourced.Memory(map[string]*source.Memory{"one": source.NewMemory()})).Dial(s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.OpenStream(t.Context(), "/lrs"); !errors.Is(err, transport.ErrUnimplemented) {
		t.Errorf("OpenStream: %v, want %v", err, transport.ErrUnimplemented)
	}
}
