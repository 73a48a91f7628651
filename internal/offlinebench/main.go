// Command offlinebench measures the last known good store.
//
//	go run ./internal/offlinebench              # all rows
//	go run ./internal/offlinebench -churn 0     # without the minute of churn
//
// The control plane is go-control-plane's, in the parent process. Each measurement is a process of its
// own:
//
//   - "live" starts with a control plane and without a store, "store" with a store and without a control
//     plane. Both open an Env, call a server, and then watch all resources. The times count from NewEnv.
//     The measurements alternate, and the medians are printed.
//   - Under churn, one percent of the resources changes each second, for a process with a store and for
//     one without, at the same time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/process"
)

var (
	resources = flag.Int("resources", 20_000, "number of resources, half of them clusters and half assignments")
	runs      = flag.Int("runs", 5, "number of starts of each kind")
	churn     = flag.Duration("churn", 65*time.Second, "time of the churn")
	role      = flag.String("role", "", "what a child measures: live, store or churn")
	addr      = flag.String("addr", "", "the control plane of a child")
	dir       = flag.String("dir", "", "the store of a child; none if empty")
)

func main() {
	flag.Parse()
	process.Main("offlinebench", func(ctx context.Context) error {
		if *role != "" {
			return child() //nolint:contextcheck // it ends by itself
		}
		return parent(ctx)
	})
}

func parent(ctx context.Context) error {
	b, err := startBackend(ctx)
	if err != nil {
		return err
	}
	defer b.server.Stop()
	plane, err := controlplane.Start(controlplane.Standard()) //nolint:contextcheck // it ends with Stop
	if err != nil {
		return err
	}
	defer plane.Stop()
	if err := publish(plane, b.port); err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "offlinebench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	store := filepath.Join(temp, "lkg")
	if *churn > 0 {
		if err := underChurn(ctx, plane, store); err != nil {
			return err
		}
	} else if err := measure(ctx, "churn", plane.Addr(), store, 5*time.Second, new(use)); err != nil {
		return err
	}
	return starts(ctx, plane, store)
}

// starts prints the times of starts.
func starts(ctx context.Context, plane *controlplane.Server, store string) error {
	all := map[string][]start{}
	for range *runs {
		var live, stored start
		if err := measure(ctx, "live", plane.Addr(), "", 0, &live); err != nil {
			return fmt.Errorf("live: %w", err)
		}
		plane.Stop()
		if err := measure(ctx, "store", plane.Addr(), store, 0, &stored); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if err := plane.Restart(); err != nil { //nolint:contextcheck // it ends with Stop
			return err
		}
		all["live"], all["store"] = append(all["live"], live), append(all["store"], stored)
	}
	for _, role := range []string{"live", "store"} {
		median := func(of func(start) time.Duration) time.Duration {
			list := make([]time.Duration, 0, len(all[role]))
			for _, s := range all[role] {
				list = append(list, of(s))
			}
			slices.Sort(list)
			return list[len(list)/2].Round(100 * time.Microsecond)
		}
		fmt.Printf("%-5s  NewEnv %-8v  first call %-8v  all %d resources %-8v  processor time %v\n", role,
			median(func(s start) time.Duration { return s.Env }), median(func(s start) time.Duration { return s.Call }), *resources,
			median(func(s start) time.Duration { return s.All }), median(func(s start) time.Duration { return s.CPU }))
	}
	return nil
}

// underChurn prints the cost of a store while resources change.
func underChurn(ctx context.Context, plane *controlplane.Server, store string) error {
	type result struct {
		use
		err error
	}
	with, without := make(chan result, 1), make(chan result, 1)
	for where, c := range map[string]chan result{store: with, "": without} {
		go func() {
			var r result
			r.err = measure(ctx, "churn", plane.Addr(), where, *churn, &r.use)
			c <- r
		}()
	}
	changed, err := change(ctx, plane)
	if err != nil {
		return err
	}
	w, o := <-with, <-without
	if w.err != nil || o.err != nil {
		return fmt.Errorf("with a store: %w; without: %w", w.err, o.err)
	}
	s, err := lkg.Open(lkg.Options{Dir: store}, lkg.Node{ID: "bench"})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	st := s.Status().Authorities[0]
	fmt.Printf("churn of 1 %% a second for %v: %d resources, %.1f MB; %d generations of %.1f MB; %.1f MB changed, write amplification %.2f\n",
		*churn, st.Resources, megabytes(st.Bytes), st.Sequence, megabytes(st.FileBytes), megabytes(changed),
		float64(st.Sequence)*float64(st.FileBytes)/float64(changed))
	fmt.Printf("processor time: %v with the store, %v without: %.2f %% of one processor more\n",
		w.CPU.Round(time.Millisecond), o.CPU.Round(time.Millisecond), 100*(w.CPU-o.CPU).Seconds()/churn.Seconds())
	return nil
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// change changes one percent of the resources each second. It returns the number of changed bytes.
func change(ctx context.Context, plane *controlplane.Server) (changed int64, err error) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	n := *resources / 2
	for round := 1; time.Duration(round)*time.Second < *churn; round++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return changed, context.Cause(ctx)
		}
		set := make(map[string]proto.Message)
		for i := range max(*resources/100, 1) {
			name := (round*(*resources/100) + i) % n
			a := newAssignment(fmt.Sprint("c-", name), 10_000+round)
			set[a.GetClusterName()] = a
			changed += int64(proto.Size(a))
		}
		if err := plane.Update(set); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// publish sets all resources, and those of the target "shop".
func publish(plane *controlplane.Server, port int) error {
	if err := plane.SetText("shop", new(listenerv3.Listener), `name: "shop" api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			route_config { name: "shop" virtual_hosts { domains: "*" routes { match { prefix: "/" } route { cluster: "shop" } } } }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`); err != nil {
		return err
	}
	clusters, assignments := map[string]proto.Message{"shop": newCluster("shop")}, map[string]proto.Message{"shop": newAssignment("shop", port)}
	for i := range *resources / 2 {
		name := fmt.Sprint("c-", i)
		clusters[name], assignments[name] = newCluster(name), newAssignment(name, 10_000)
	}
	shop := assignments["shop"].(*endpointv3.ClusterLoadAssignment)
	shop.Endpoints[0].LbEndpoints = shop.Endpoints[0].LbEndpoints[:1]
	if err := plane.Update(clusters); err != nil {
		return err
	}
	return plane.Update(assignments)
}

// text parses a message of this program.
func text[M proto.Message](m M, format string, args ...any) M {
	if err := controlplane.Parse(m, format, args...); err != nil {
		panic(err) // the text is constant
	}
	return m
}

func newCluster(name string) *clusterv3.Cluster {
	return text(new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } }`, name)
}

// newAssignment returns an assignment of ten endpoints.
func newAssignment(name string, port int) *endpointv3.ClusterLoadAssignment {
	a := text(new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints {
		locality { region: "region-1" zone: "zone-a" } load_balancing_weight { value: 1 } }`, name)
	for i := range 10 {
		a.Endpoints[0].LbEndpoints = append(a.Endpoints[0].LbEndpoints, text(new(endpointv3.LbEndpoint),
			`endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } }`, port+i))
	}
	return a
}
