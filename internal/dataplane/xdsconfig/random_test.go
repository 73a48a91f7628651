package xdsconfig_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A model has the resources of the control plane, and the subscribed names. A cluster is the name
// of its endpoints, or the names of other clusters.
type model struct {
	routes    []string
	held      map[string]func()
	services  map[string]string
	others    map[string][]string
	endpoints map[string]int
}

// After any events in any order, the final configuration follows from the resources of the control
// plane.
func TestAgreesWithNaive(t *testing.T) {
	for seed := range uint64(60) {
		in(t, "", func(w *world) {
			r := rand.New(rand.NewPCG(seed, 0))
			m := &model{
				held: make(map[string]func()), services: make(map[string]string), others: make(map[string][]string), endpoints: make(map[string]int),
			}
			w.rds("r")
			m.routes = []string{"c0"}
			w.route(hosts("c0"))
			for step := range 25 {
				for range 1 + r.IntN(3) {
					m.change(w, r)
				}
				w.elapse()
				for len(w.news) > 0 {
					<-w.news
				}
				if got, want := describe(w.last, nil), m.expect(); got != want {
					t.Fatalf("seed %d, step %d: the configuration is\n%s\nwant\n%s", seed, step, got, want)
				}
			}
			for _, release := range m.held {
				release()
			}
		})
	}
}

func some(r *rand.Rand, prefix string) string { return fmt.Sprint(prefix, r.IntN(6)) }

// change changes one thing.
func (m *model) change(w *world, r *rand.Rand) {
	switch name := some(r, "c"); r.IntN(6) {
	case 0:
		m.routes = nil
		for range 1 + r.IntN(3) {
			m.routes = append(m.routes, some(r, "c"))
		}
		w.route(hosts(m.routes...))
	case 1:
		service := some(r, "e")
		delete(m.others, name)
		m.services[name] = service
		w.eds(name, service)
	case 2:
		delete(m.services, name)
		m.others[name] = nil
		for range 1 + r.IntN(3) {
			m.others[name] = append(m.others[name], some(r, "c"))
		}
		w.aggregate(name, m.others[name]...)
	case 3, 4:
		service := some(r, "e")
		m.endpoints[service] = 1 + r.IntN(9)
		w.endpoints(service, m.endpoints[service])
	case 5:
		if release, ok := m.held[name]; ok {
			release()
			delete(m.held, name)
			return
		}
		m.held[name] = w.watcher.Subscribe(name)
	}
}

// expect computes the configuration from scratch, in the form of describe.
func (m *model) expect() string {
	targets := make(map[string]bool)
	for _, name := range m.routes {
		targets[name] = true
	}
	for name := range m.held {
		targets[name] = true
	}
	entries := make(map[string]string)
	for name := range targets {
		m.enter(name, entries)
	}
	parts := []string{strings.Join(slices.Sorted(maps.Keys(targets)), " ") + ":"}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		parts = append(parts, name+"="+entries[name])
	}
	return strings.Join(parts, " ")
}

const missing = `%s %q: does not exist: the control plane did not send it in time after it was asked for [server memory, node n]`

// enter adds the entry of a cluster, and those of its leaves.
func (m *model) enter(name string, entries map[string]string) {
	switch service, eds := m.services[name]; {
	case eds && m.endpoints[service] > 0:
		entries[name] = fmt.Sprintf("[10.0.0.1:%d]%s", m.endpoints[service], quiet)
	case eds:
		entries[name] = "[]{" + fmt.Sprintf(missing, "ClusterLoadAssignment", service) + "}"
	case m.others[name] == nil:
		entries[name] = "(" + fmt.Sprintf(missing, "Cluster", name) + ")"
	default:
		leaves := m.leaves(name, map[string]bool{name: true}, entries)
		if entries[name] = strings.Join(leaves, "+"); len(leaves) == 0 {
			entries[name] = fmt.Sprintf("(Cluster %q: cluster: an aggregate cluster must come to a cluster that is there (A37) [server memory, node n])", name)
		}
	}
}

// leaves follows an aggregate cluster.
func (m *model) leaves(name string, met map[string]bool, entries map[string]string) (leaves []string) {
	for _, below := range m.others[name] {
		if met[below] {
			continue
		}
		met[below] = true
		if m.others[below] != nil {
			leaves = append(leaves, m.leaves(below, met, entries)...)
			continue
		}
		m.enter(below, entries)
		if _, there := m.services[below]; there {
			leaves = append(leaves, below)
		}
	}
	return leaves
}
