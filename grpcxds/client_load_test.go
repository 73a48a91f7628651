package grpcxds_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
)

// A reportedPlane is a control plane that receives load reports.
type reportedPlane struct {
	*plane
	sink *fakelrs.Server
}

func newReportedPlane(t *testing.T, b *backend) reportedPlane {
	t.Helper()
	p := reportedPlane{&plane{TB: t}, fakelrs.New(10 * time.Millisecond)}
	var err error
	if p.Server, err = controlplane.Start(controlplane.Standard(), p.sink.Option()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	p.set("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } lrs_server { self {} }`)
	p.endpoints("c", b)
	p.listener("svc", `route_config { `+hosts("*", to("c"))+` }`)
	return p
}

// awaitSum waits until the servers together have got the reports of a number of calls. The first server has an open stream, whose reports
// come each second.
func awaitSum(t *testing.T, want uint64, first, second reportedPlane) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got fakelrs.Totals
	err := first.sink.Await(ctx, func(reports []fakelrs.Report) bool {
		got = fakelrs.Sum(append(reports, second.sink.Reports()...))
		return got.Succeeded >= want || got.Issued > want
	})
	if err != nil || got != (fakelrs.Totals{Issued: want, Succeeded: want}) {
		t.Fatalf("reported %+v (%v); must be %d calls", got, err, want)
	}
}

// No load is lost or doubled across a fallback (A71), after the return to the first server, and after new connections. Calls run across
// all of that. A server stops only when it has all reports, because reports on their way would be lost.
func TestLoadAcrossFallbackAndReconnection(t *testing.T) {
	b := newBackend(t, "b")
	first, second := newReportedPlane(t, b), newReportedPlane(t, b)
	first.Stop()
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s, %s]}`, first.entry(), second.entry()))
	cc := newChannel(t, env, "xds:///svc")
	var total atomic.Uint64
	// during makes calls until f returns.
	during := func(f func()) {
		var end atomic.Bool
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for !end.Load() {
					if _, err := call(soon(t), cc, "/p.S/M"); err != nil {
						t.Error(err)
					}
					total.Add(1)
				}
			})
		}
		f()
		end.Store(true)
		all.Wait()
	}
	reported := func(p reportedPlane) {
		before := fakelrs.Sum(p.sink.Reports()).Succeeded
		if err := p.sink.Await(soon(t), func(r []fakelrs.Report) bool { return fakelrs.Sum(r).Succeeded > before }); err != nil {
			t.Error(err)
		}
	}
	during(func() {
		reported(second)
		if err := first.Restart(); err != nil {
			t.Error(err)
		}
		reported(first)
	})
	awaitSum(t, total.Load(), first, second)
	back := fakelrs.Sum(second.sink.Reports()).Succeeded
	for range 2 {
		first.Stop()
		during(func() {
			if err := first.Restart(); err != nil {
				t.Error(err)
			}
			reported(first)
		})
		awaitSum(t, total.Load(), first, second)
	}
	if now := fakelrs.Sum(second.sink.Reports()).Succeeded; back == 0 || now != back {
		t.Errorf("the second server got the load of %d calls until the return to the first one, and later of %d; want some, and no more", back, now)
	}
	opened, _ := first.sink.Streams()
	t.Logf("%d calls, of which %d were reported to the second server, and the others by %d streams to the first one", total.Load(), back, opened)
}
