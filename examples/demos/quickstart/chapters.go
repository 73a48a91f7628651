package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// targets resolves targets to the names of Listeners (gRFC A47).
func (s *stage) targets(context.Context) error {
	s.Chapter("A target becomes the name of a Listener")
	name, err := s.config.ClientListenerName(target)
	if err != nil {
		return err
	}
	s.Line("%s", target)
	s.Line("→ %s", name)
	if name.String() != checkoutListener {
		return fmt.Errorf("the target became %s, want %s", name, checkoutListener)
	}
	s.Seen("the authority %s is in the bootstrap file; its server is B", name.Authority())
	return nil
}

// references follows references between resources without knowing their types. Every update
// lists its references.
func (s *stage) references(ctx context.Context) error {
	s.Chapter("Listener, route, cluster and endpoints are followed by their references")
	root, err := listener.Type().Ref(s.client, checkoutListener)
	if err != nil {
		return err
	}
	found := 0
	if err := s.follow(ctx, root, &found); err != nil {
		return err
	}
	if found != 4 {
		return fmt.Errorf("followed %d resources, want 4", found)
	}
	s.Seen("four resources of three authorities; the cluster is in another one than its listener")
	return nil
}

func (s *stage) follow(ctx context.Context, r resource.Ref, found *int) error {
	t, err := resource.Find(s.client, r.Type)
	if err != nil {
		return err
	}
	u, err := t.Get(ctx, s.client, r.Name.String())
	if err != nil {
		return err
	}
	_, kind, _ := strings.Cut(r.Type, ".v3.")
	s.Line("%-29s at %-14s from %s", strings.Repeat("  ", *found)+kind, r.Name.Authority(), s.letter(u))
	*found++
	for next := range u.Refs() {
		if err := s.follow(ctx, next, found); err != nil {
			return err
		}
	}
	return nil
}

// letter returns the letter of the control plane that sent an update.
func (s *stage) letter(u resource.Update) string {
	if u.Server().URI() == s.a.Addr() {
		return "A"
	}
	return "B"
}

// connections counts the client's connections on the servers.
func (s *stage) connections(ctx context.Context) error {
	s.Chapter("Authorities with the same server share its connection")
	u, err := cluster.Get(ctx, s.client, legacyCluster)
	if err != nil {
		return err
	}
	s.Line("beside the three authorities, the old-style name %q was fetched from %s", u.Name(), s.letter(u))
	a, b := s.a.Connections(), s.b.Connections()
	if a+b != 2 {
		return fmt.Errorf("the servers have %d and %d connections, want one each", a, b)
	}
	s.Seen("connections: %d to A, %d to B: %d in all", a, b, a+b)
	return nil
}

// liveChange watches endpoints while they change.
func (s *stage) liveChange(ctx context.Context) error {
	s.Chapter("A live change arrives, typed")
	w := begin(endpoint.Watch(ctx, s.client, checkoutEndpoints))
	defer w.stop()
	has := func(n int) func(endpoint.Event) bool {
		return func(ev endpoint.Event) bool {
			return usable(ev) && len(ev.Update.Localities) == 1 && len(ev.Update.Localities[0].Endpoints) == n
		}
	}
	ev, err := w.until("two endpoints", has(2))
	if err != nil {
		return err
	}
	u := ev.Update
	s.Line("version %s: %s", u.Version(), addresses(u))
	if err := s.setEndpoints("10.0.0.1", "10.0.0.2", "10.0.0.3"); err != nil {
		return err
	}
	if ev, err = w.until("three endpoints", has(3)); err != nil {
		return err
	}
	u = ev.Update
	s.Line("version %s: %s", u.Version(), addresses(u))
	s.Seen("the update is a Go struct: u.Localities[0].Endpoints[2].Address() is %q", u.Localities[0].Endpoints[2].Address())
	return nil
}

func addresses(u *endpoint.Update) string {
	var all []string
	for _, l := range u.Localities {
		for _, e := range l.Endpoints {
			all = slices.AppendSeq(all, e.Addresses())
		}
	}
	return strings.Join(all, ", ")
}

// badResource publishes a good and a bad cluster in one response.
func (s *stage) badResource(ctx context.Context) error {
	s.Chapter("A bad resource is rejected; the good one beside it is used")
	good, bad := begin(cluster.Watch(ctx, s.client, searchCluster)), begin(cluster.Watch(ctx, s.client, paymentsCluster))
	defer good.stop()
	defer bad.stop()
	for _, w := range []watch[*cluster.Update]{good, bad} {
		if _, err := w.until("the first version", func(ev cluster.Event) bool {
			return usable(ev) && ev.Update.MaxRequests == 100
		}); err != nil {
			return err
		}
	}

	broken := clusterText(paymentsCluster, checkoutEndpoints, 200) + "lb_policy: MAGLEV"
	if err := s.setClusters(broken, clusterText(searchCluster, checkoutEndpoints, 200)); err != nil {
		return err
	}
	s.Line("A sends both clusters in one response; payments has a policy that is not supported")

	if _, err := good.until("the good cluster's change", func(ev cluster.Event) bool {
		return usable(ev) && ev.Update.MaxRequests == 200
	}); err != nil {
		return err
	}
	s.Seen("search is updated: u.MaxRequests is 200")
	ev, err := bad.until("the rejection", func(ev cluster.Event) bool {
		return errors.Is(ev.Ambient, resource.ErrInvalid) && strings.Contains(ev.Ambient.Error(), "lb_policy")
	})
	if err != nil {
		return err
	}
	s.Quote("the program receives:", ev.Ambient)
	s.Seen("payments keeps its last valid version: u.MaxRequests is %d", ev.Update.MaxRequests)
	nack, err := s.a.Rejection(ctx)
	if err != nil {
		return err
	}
	s.Quote("A receives:", nack.Text)
	s.Seen("A received the NACK, with the field and the reason")
	return nil
}

// removal removes a Listener on each of the two servers (gRFC A88).
func (s *stage) removal(ctx context.Context) error {
	s.Chapter("A removed resource: the server's entry decides")
	if err := s.remove(ctx, "A", s.a, ordersListener, true); err != nil {
		return err
	}
	s.Seen("A has no fail_on_data_errors: the error is ambient, the listener stays in use")
	if err := s.remove(ctx, "B", s.b, checkoutListener, false); err != nil {
		return err
	}
	s.Seen("B has fail_on_data_errors: the watch has failed, the listener is dropped")
	return nil
}

// remove deletes a listener and checks whether the client keeps it.
func (s *stage) remove(ctx context.Context, letter string, server *story.ControlPlane, name string, keeps bool) error {
	w := begin(listener.Watch(ctx, s.client, name))
	defer w.stop()
	if _, err := w.until("the listener", usable[*listener.Update]); err != nil {
		return err
	}
	if err := server.Delete(new(listenerv3.Listener), name); err != nil {
		return err
	}
	ev, err := w.until("the removal", func(ev listener.Event) bool {
		return (ev.Err == nil) == keeps && errors.Is(cmp.Or(ev.Err, ev.Ambient), resource.ErrRemoved)
	})
	if err != nil {
		return err
	}
	s.Quote("from "+letter+":", cmp.Or(ev.Err, ev.Ambient))
	if _, cached := listener.Lookup(s.client, name); cached != keeps {
		return fmt.Errorf("after its removal, %s is cached: %v", name, cached)
	}
	return nil
}
