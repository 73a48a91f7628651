package csds_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A row is the entry of a resource: its state, the version in use if the content is that version's,
// the version of the error, and a part of its details. A dash means that there is none.
type row struct{ state, version, failed, details string }

func rowOf(g *statusv3.ClientConfig_GenericXdsConfig, bodies map[string]proto.Message) row {
	r := row{state: g.GetClientStatus().String(), version: "-", failed: "-", details: g.GetErrorState().GetDetails()}
	if g.GetXdsConfig() != nil || g.GetLastUpdated() != nil || g.GetVersionInfo() != "" {
		r.version = g.GetVersionInfo()
		if want := bodies[r.version]; want == nil || !g.GetXdsConfig().MessageIs(want) || g.GetLastUpdated().AsTime().IsZero() {
			r.version += " with the content of another version"
		} else if got, err := g.GetXdsConfig().UnmarshalNew(); err != nil || !proto.Equal(got, want) {
			r.version += " with other content"
		}
	}
	if e := g.GetErrorState(); e != nil {
		r.failed = e.GetVersionInfo()
		if e.GetLastUpdateAttempt() == nil || e.GetFailedConfiguration() != nil {
			r.failed += " without a time"
		}
	}
	return r
}

// Each state of gRFC A88 has the resource in use and the error that the gRFC lists for it. An
// unreachable control plane changes neither.
func TestStates(t *testing.T) {
	failing := []string{feature.FailOnDataErrors}
	slow := []string{feature.ResourceTimerIsTransientError}
	one := validCluster("a", "one")
	refused := func(w *world, code codes.Code) {
		w.plane.Set(endpoint.Type().URL(), memoryads.Resource{Name: "a", Error: &rpcstatus.Status{Code: int32(code), Message: "sorry"}})
		synctest.Wait()
	}
	for _, tt := range []struct {
		name     string
		features []string
		script   func(w *world)
		want     row
	}{
		{"requested", nil, func(w *world) { watch(w, endpoint.Type(), "a") }, row{"REQUESTED", "-", "-", ""}},
		{"accepted", nil, func(w *world) {
			w.set("a", one)
			watch(w, cluster.Type(), "a")
		}, row{"ACKED", "1", "-", ""}},
		{"rejected", nil, func(w *world) {
			w.set("a", invalidCluster("a"))
			watch(w, cluster.Type(), "a")
		}, row{"NACKED", "-", "1", "lb_policy"}},
		{"rejected beside a cached one", nil, func(w *world) {
			w.set("a", one)
			watch(w, cluster.Type(), "a")
			w.set("a", invalidCluster("a"))
		}, row{"NACKED", "1", "2", "lb_policy"}},
		{"rejected with fail_on_data_errors", failing, func(w *world) {
			w.set("a", one)
			watch(w, cluster.Type(), "a")
			w.set("a", invalidCluster("a"))
		}, row{"NACKED", "-", "2", "lb_policy"}},
		{"accepted after a rejection", nil, func(w *world) {
			w.set("a", invalidCluster("a"))
			watch(w, cluster.Type(), "a")
			w.set("a", one)
		}, row{"ACKED", "2", "-", ""}},
		{"removed", nil, func(w *world) {
			w.set("a", one)
			watch(w, cluster.Type(), "a")
			w.plane.Delete(cluster.Type().URL(), "a")
		}, row{"DOES_NOT_EXIST", "1", "", "missing"}},
		{"removed with fail_on_data_errors", failing, func(w *world) {
			w.set("a", one)
			watch(w, cluster.Type(), "a")
			w.plane.Delete(cluster.Type().URL(), "a")
		}, row{"DOES_NOT_EXIST", "-", "", "missing"}},
		{"timer", nil, func(w *world) {
			watch(w, endpoint.Type(), "a")
			w.pass(20 * time.Second)
		}, row{"DOES_NOT_EXIST", "-", "", "in time"}},
		{"timer with resource_timer_is_transient_error", slow, func(w *world) {
			watch(w, endpoint.Type(), "a")
			w.pass(40 * time.Second)
		}, row{"TIMEOUT", "-", "", "no answer in time"}},
		{"error of the control plane", nil, func(w *world) {
			refused(w, codes.PermissionDenied)
			watch(w, endpoint.Type(), "a")
		}, row{"RECEIVED_ERROR", "-", "", "sorry"}},
		{"error of the control plane beside a cached one", nil, func(w *world) {
			w.set("a", assignment("a"))
			watch(w, endpoint.Type(), "a")
			refused(w, codes.Unavailable)
		}, row{"RECEIVED_ERROR", "1", "", "sorry"}},
		{"error of the control plane with fail_on_data_errors", failing, func(w *world) {
			w.set("a", assignment("a"))
			watch(w, endpoint.Type(), "a")
			refused(w, codes.NotFound)
		}, row{"RECEIVED_ERROR", "-", "", "sorry"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				t := w.T // of the bubble
				tt.script(w)
				synctest.Wait()
				s := serve(t, csds.Config{}, w.env)
				check := func(when string) {
					t.Helper()
					g := w.only(fetch(t, s, new(statusv3.ClientStatusRequest)))
					bodies := map[string]proto.Message{"1": one, "2": one}
					if strings.HasSuffix(g.GetTypeUrl(), "ClusterLoadAssignment") {
						bodies = map[string]proto.Message{"1": assignment("a")}
					}
					got := rowOf(g, bodies)
					if tt.want.details != "" && strings.Contains(got.details, tt.want.details) {
						got.details = tt.want.details
					}
					if got != tt.want {
						t.Errorf("%s: %+v, want %+v", when, got, tt.want)
					}
				}
				check("at first")
				w.plane.Refuse(errors.New("refused"))
				w.plane.Disconnect(errors.New("cut"))
				w.pass(5 * time.Second)
				p, err := w.client.Snapshot(t.Context())
				if err != nil || p.Servers[0].Err == nil {
					t.Fatalf("snapshot = %v, %v; want an unreachable server", p, err)
				}
				check("with an unreachable control plane")
			}, tt.features...)
		})
	}
}

// A collection is no resource: its members are.
func TestCollectionsAreLeftOut(t *testing.T) {
	inWorld(t, func(w *world) {
		t := w.T
		w.set("a", validCluster("a", ""))
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait() // for the end of the watch
		defer cancel()
		go func() {
			for ev := range cluster.Type().WatchCollection(ctx, w.client, resource.Wildcard) {
				_ = ev
			}
		}()
		synctest.Wait()
		if g := w.only(fetch(t, serve(t, csds.Config{}, w.env), new(statusv3.ClientStatusRequest))); g.GetName() != "a" {
			t.Errorf("entry = %v, want that of the member", g)
		}
	})
}
