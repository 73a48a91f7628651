package main

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// An item is a resource with its newest event.
type item struct {
	typ, name string
	servers   []int
	version   int // the newest one

	mu  sync.Mutex
	raw []byte // the last delivered content; nil if there is none
	err error
}

// notify takes an event.
func (it *item) notify(ev resource.Event[resource.Update]) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.raw, it.err = nil, cmp.Or(ev.Err, ev.Ambient)
	if ev.Update != nil {
		it.raw = ev.Update.Raw()
	}
}

// lost describes the state that the watcher or the cache lacks. It returns nil when both
// have the newest version.
func (it *item) lost(c resource.Client) error {
	it.mu.Lock()
	raw, err := it.raw, it.err
	it.mu.Unlock()
	if err != nil {
		return err
	}
	if v := versionOf(it.typ, raw); v != strconv.Itoa(it.version) {
		return fmt.Errorf("%s: the watcher has version %q, want %d", it.name, v, it.version)
	}
	t, err := resource.Find(c, it.typ)
	if err != nil {
		return err
	}
	u, ok := t.Lookup(c, it.name)
	if !ok {
		return fmt.Errorf("%s is not cached", it.name)
	}
	if v := versionOf(it.typ, u.Raw()); v != strconv.Itoa(it.version) {
		return fmt.Errorf("%s: the cache has version %q, want %d", it.name, v, it.version)
	}
	return nil
}

// versionOf returns the version inside a resource, or "" if it has none.
func versionOf(typ string, raw []byte) string {
	if typ == clusterType {
		m := new(clusterv3.Cluster)
		if proto.Unmarshal(raw, m) != nil {
			return ""
		}
		return m.GetAltStatName()
	}
	m := new(endpointv3.ClusterLoadAssignment)
	if proto.Unmarshal(raw, m) != nil || len(m.GetEndpoints()) == 0 {
		return ""
	}
	return m.GetEndpoints()[0].GetLocality().GetZone()
}
