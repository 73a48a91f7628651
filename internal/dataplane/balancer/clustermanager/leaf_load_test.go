package clustermanager

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// stores has one store for all servers, or an error.
type stores struct {
	store *load.Store
	err   error
}

func (s stores) LoadStore(*bootstrap.Server) (*load.Store, error) { return s.store, s.err }

func serverAt(t *testing.T, uri string) *bootstrap.Server {
	t.Helper()
	s, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: uri, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLoadMatches(t *testing.T) {
	base := loadReport{name: "c", service: "s", server: serverAt(t, "a")}
	for what, tt := range map[string]struct {
		other loadReport
		want  bool
	}{
		"an equal server": {loadReport{name: "c", service: "s", server: serverAt(t, "a")}, true},
		"another server":  {loadReport{name: "c", service: "s", server: serverAt(t, "b")}, false},
		"no server":       {loadReport{name: "c", service: "s"}, false},
		"another cluster": {loadReport{name: "d", service: "s", server: base.server}, false},
		"another service": {loadReport{name: "c", service: "t", server: base.server}, false},
		"other metrics":   {loadReport{name: "c", service: "s", server: base.server, propagation: load.Propagation{CPU: true}}, false},
	} {
		if base.matches(&tt.other) != tt.want || tt.other.matches(&base) != tt.want {
			t.Errorf("%s matches: %v, want %v", what, !tt.want, tt.want)
		}
	}
	if none := new(loadReport); !none.matches(new(loadReport)) || none.metrics() {
		t.Error("two loads without a server must match, and have no metrics")
	}
	if l := (&loadReport{propagation: load.Propagation{CPU: true}}); !l.metrics() {
		t.Error("a load with propagation has metrics")
	}
}

func TestLoadIsOpenedOnlyWithAServer(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	id := endpoint.LocalityID{Region: "r"}
	for what, tt := range map[string]struct {
		server *bootstrap.Server
		loads  stores
		opened bool
		logged bool
	}{
		"no server":            {nil, stores{store: load.NewStore(nil)}, false, false},
		"a server":             {serverAt(t, "a"), stores{store: load.NewStore(nil)}, true, false},
		"an unknown server":    {serverAt(t, "a"), stores{err: fmt.Errorf("client: %w", load.ErrServerNotInBootstrap)}, false, true},
		"a client that closed": {serverAt(t, "a"), stores{err: resource.ErrClosed}, false, false},
	} {
		log.Reset()
		l := &loadReport{name: "c", server: tt.server}
		l.open(tt.loads, logger)
		if (l.cluster != nil) != tt.opened || (l.locality(id) != nil) != tt.opened || (log.Len() > 0) != tt.logged {
			t.Errorf("%s: counted %v, in a locality %v, logged %q", what, l.cluster != nil, l.locality(id) != nil, &log)
		}
		l.end()
	}
	l := &loadReport{server: serverAt(t, "a")}
	l.open(nil, logger)
	if l.cluster != nil {
		t.Error("load is counted although no server gets reports")
	}
}

// TestLoadOfLocalities counts calls in localities that are added and removed.
func TestLoadOfLocalities(t *testing.T) {
	store := load.NewStore(nil)
	one, two := endpoint.LocalityID{Region: "1"}, endpoint.LocalityID{Region: "2"}
	l := &loadReport{name: "c", server: serverAt(t, "a")}
	l.open(stores{store: store}, slog.New(slog.DiscardHandler))
	if again := l.locality(one); again != l.locality(one) || again == l.locality(two) {
		t.Error("a locality must have one handle of its own")
	}
	first := l.locality(one)
	l.keep(map[endpoint.LocalityID]bool{two: true})
	if _, still := l.localities[one]; still || len(l.localities) != 1 {
		t.Errorf("kept %d localities, want the second", len(l.localities))
	}
	first.CallStarted() // a call in flight ends in the locality in which it began
	first.CallFinished(nil, nil)
	l.end()
	var regions []string
	for _, s := range store.Delta(load.ClusterFilter{All: true}, time.Now()).Stats {
		for _, u := range s.GetUpstreamLocalityStats() {
			regions = append(regions, u.GetLocality().GetRegion())
		}
	}
	if fmt.Sprint(regions) != "[1]" {
		t.Errorf("the report has the localities %q, want the one with a call", regions)
	}
}

// TestEjection lets one of two endpoints fail all calls, and follows its health over an interval
// and the ejection.
func TestEjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := leafConfig(cluster.EDS{}, "a", "b")
		c.Update.OutlierDetection = &cluster.OutlierDetection{
			Interval: 10 * time.Second, BaseEjectionTime: 30 * time.Second, MaxEjectionTime: 30 * time.Second, MaxEjectionPercent: 50,
			FailurePercentage: cluster.FailurePercentage{Threshold: 50, Enforcement: 100, MinimumHosts: 1, RequestVolume: 1},
		}
		s.do(func() { s.cluster.Update(c) })
		for _, sc := range s.channel.made {
			s.do(func() { sc.listener(balancer.SubConnState{ConnectivityState: connectivity.Ready}) })
			s.do(func() { sc.health(balancer.SubConnState{ConnectivityState: connectivity.Ready}) })
		}
		picked := func() map[string]bool {
			got := make(map[string]bool)
			for range 40 {
				r, err := s.last.Picker.Pick(balancer.PickInfo{Ctx: t.Context()})
				if err != nil {
					t.Fatal(err)
				}
				sc, ok := r.SubConn.(*connection)
				if !ok {
					t.Fatalf("the subchannel is a %T", r.SubConn)
				}
				got[sc.addr] = true
				info := balancer.DoneInfo{BytesSent: true, BytesReceived: true}
				if sc.addr == "a" {
					info.Err = errors.New("failed")
				}
				r.Done(info)
			}
			return got
		}
		pass := func(d time.Duration) {
			<-time.NewTimer(d).C
			synctest.Wait()
			s.do(func() {})
		}
		if got := picked(); len(got) != 2 {
			t.Errorf("before the end of the interval, calls reach %v; want both endpoints", got)
		}
		pass(10 * time.Second)
		if got := picked(); len(got) != 1 || !got["b"] {
			t.Errorf("calls go to %v, want the endpoint that does not fail", got)
		}
		pass(40 * time.Second)
		if got := picked(); len(got) != 2 {
			t.Errorf("after the ejection, calls go to %v, want both endpoints", got)
		}
		s.do(func() { // without outlier detection, no endpoint stays ejected
			next := *c.Update
			next.OutlierDetection = nil
			c.Update = &next
			s.cluster.Update(c)
		})
		pass(time.Minute)
		if got := picked(); len(got) != 2 {
			t.Errorf("without outlier detection, calls go to %v, want both endpoints", got)
		}
	})
}

// TestSameButNote distinguishes a change of only the note from any other change.
func TestSameButNote(t *testing.T) {
	a := leafConfig(cluster.EDS{}, "a")
	a.Drops = []endpoint.Drop{{Category: "x"}}
	for what, tt := range map[string]struct {
		change func(*xdsconfig.Cluster)
		same   bool
	}{
		"another note":     {func(c *xdsconfig.Cluster) { c.Note = errors.New("another") }, true},
		"other localities": {func(c *xdsconfig.Cluster) { c.Localities = append([]endpoint.Locality{}, c.Localities...) }, false},
		"more localities":  {func(c *xdsconfig.Cluster) { c.Localities = append(c.Localities[:1:1], endpoint.Locality{}) }, false},
		"no localities":    {func(c *xdsconfig.Cluster) { c.Localities = nil }, false},
		"other drops":      {func(c *xdsconfig.Cluster) { c.Drops = append([]endpoint.Drop{}, c.Drops...) }, false},
		"no drops":         {func(c *xdsconfig.Cluster) { c.Drops = nil }, false},
		"another cluster":  {func(c *xdsconfig.Cluster) { c.Update = new(cluster.Update) }, false},
		"an error":         {func(c *xdsconfig.Cluster) { c.Err = errors.New("removed") }, false},
	} {
		b := a
		tt.change(&b)
		if sameButNote(&a, &b) != tt.same || sameButNote(&b, &a) != tt.same {
			t.Errorf("%s: the same is %v, want %v", what, !tt.same, tt.same)
		}
	}
}
