package xdsconfig

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
)

// collectionFeature is the client feature of clients that read the endpoints of list collections (A95).
const collectionFeature = "xds.endpoint.supports_lb_endpoint_collection"

// ClientFeatures returns the features that clients with these types have if a Watcher uses them.
func ClientFeatures(types *resource.Set) []string {
	if types.Index(resource.Describe(lbendpoint.Type())) < 0 {
		return nil
	}
	return []string{collectionFeature}
}

var (
	errTooManyLists = errors.New("xdsconfig: the endpoints of clusters are in more list collections than the limit allows")
	errLocated      = errors.New("entries.inline_entry = missing; must be set, because endpoints cannot be located elsewhere (A95)")
	errWeights      = errors.New("entries.inline_entry.resource.load_balancing_weight: the sum must not be above 4294967295 (A27)")
	errAddress      = errors.New("an endpoint has an address of another endpoint of the cluster; addresses must be unique (A27)")
)

// An endpointWatch is a watched EDS resource, with the endpoints of its list collections (A95).
type endpointWatch struct {
	resourceWatch[*endpoint.Update]
	joined joined
}

// A joined has the localities of an EDS resource with their endpoints, in the resource or in list collections.
type joined struct {
	localities []endpoint.Locality
	errs       []error // of the list collections, ambient ones too
	twice      error   // an address is used twice
	version    uint64  // of the newest resource that this comes from

	update   *endpoint.Update
	lists    []*listWatch // of the localities that have one
	contents []uint64     // of the lists
}

// A listWatch is a watched list collection, and its endpoints as of one version.
type listWatch struct {
	resourceWatch[resource.Update]
	endpoints []endpoint.Endpoint
	invalid   error           // why a valid list has no usable endpoints
	converted resource.Update // the update that endpoints come from; nil if there is none
	content   uint64          // counts the changes of endpoints
}

// listType returns the type of list collections of endpoints.
func (w *Watcher) listType() (resource.TypeOf[resource.Update], error) {
	return resource.Find(w.client, resource.Describe(lbendpoint.Type()).Collection)
}

// watchEndpoints finds or starts the watch of an EDS resource.
func (w *traversal) watchEndpoints(name string) *endpointWatch {
	n, ok := w.watches.endpoints[name]
	if !ok {
		n = &endpointWatch{}
		n.subscribe(w.Watcher, endpoint.Type(), name)
		w.watches.endpoints[name] = n
	}
	n.reached = w.traversals
	return n
}

// watchList finds or starts the watch of a list collection. It returns nil if there are too many.
func (w *traversal) watchList(name string) *listWatch {
	n, ok := w.watches.lists[name]
	if ok && n.reached == w.traversals {
		return n
	}
	if w.lists == w.options.Limit && w.err == nil {
		w.err = fmt.Errorf("%w: %d", errTooManyLists, w.options.Limit)
	}
	if w.over() {
		return nil
	}
	w.lists++
	if !ok {
		n = &listWatch{}
		if t, err := w.listType(); err != nil {
			n.fail(w.Watcher, err)
		} else {
			n.subscribe(w.Watcher, t, name)
		}
		w.watches.lists[name] = n
	}
	n.reached = w.traversals
	return n
}

// join puts the endpoints of list collections into the localities of an EDS resource (A95). It returns false if some of the
// lists are not known yet.
func (w *traversal) join(e *endpointWatch) (complete bool) {
	if e.err != nil {
		return true
	}
	next := joined{update: e.update, version: e.version}
	complete = true
	for i := range e.update.Localities {
		name := e.update.Localities[i].Collection
		if name == "" {
			continue
		}
		l := w.watchList(name)
		if l == nil {
			return true
		}
		next.lists = append(next.lists, l)
		next.version, complete = max(next.version, l.version), complete && l.known
	}
	if complete && next.version != e.joined.version {
		next.join(&e.joined, w.options.NodeID)
		e.joined = next
	}
	return complete
}

// join sets the localities. They remain those of the last version if only ambient errors have changed, so that LB policies
// need no update.
func (j *joined) join(last *joined, nodeID string) {
	for _, l := range j.lists {
		l.convert(nodeID)
		j.contents = append(j.contents, l.content)
		for _, err := range []error{l.err, l.invalid, l.ambient} {
			if err != nil {
				j.errs = append(j.errs, err)
			}
		}
	}
	switch {
	case len(j.lists) == 0:
		j.localities = j.update.Localities
	case j.update == last.update && slices.Equal(j.lists, last.lists) && slices.Equal(j.contents, last.contents):
		j.localities, j.twice = last.localities, last.twice
	default:
		j.combine()
	}
	if j.twice != nil {
		j.errs = append(j.errs, j.twice)
	}
}

// combine makes the localities of the resource and its lists. An address is used once.
func (j *joined) combine() {
	j.localities = slices.Clone(j.update.Localities)
	seen := make(map[string]bool)
	next := 0
	for i := range j.localities {
		l := &j.localities[i]
		if l.Collection != "" {
			l.Endpoints = j.lists[next].endpoints
			next++
		}
		var unique bool
		if l.Endpoints, unique = distinct(l.Endpoints, seen); !unique && j.twice == nil {
			j.twice = fmt.Errorf("locality %v: %w", l.ID, errAddress)
		}
	}
}

// distinct leaves out endpoints with an address that was seen before, and adds all addresses to seen.
func distinct(endpoints []endpoint.Endpoint, seen map[string]bool) (kept []endpoint.Endpoint, unique bool) {
	again := func(e endpoint.Endpoint) (twice bool) {
		for address := range e.Addresses() {
			twice = twice || seen[address]
			seen[address] = true
		}
		return twice
	}
	kept = make([]endpoint.Endpoint, 0, len(endpoints))
	for i := range endpoints {
		if !again(endpoints[i]) {
			kept = append(kept, endpoints[i])
		}
	}
	return kept, len(kept) == len(endpoints)
}

// convert reads the endpoints of a list if there is another update. A list without an update has no endpoints.
func (n *listWatch) convert(nodeID string) {
	if n.converted == n.update {
		return
	}
	n.content++
	n.converted, n.endpoints, n.invalid = n.update, nil, nil
	if n.err != nil {
		return
	}
	var err error
	if n.endpoints, err = endpointsOf(n.update); err != nil {
		n.invalid = &resource.Error{
			Kind: resource.ErrInvalid, Type: resource.Describe(lbendpoint.Type()).Collection, Name: n.update.Name(),
			Server: n.update.Server().URI(), NodeID: nodeID, Err: err,
		}
	}
}

// endpointsOf returns the endpoints of a list in its order. Their rules are those of the endpoints of an EDS resource.
func endpointsOf(u resource.Update) ([]endpoint.Endpoint, error) {
	list, ok := u.(interface {
		Entries() iter.Seq2[xdstp.Name, resource.Update]
	})
	if !ok {
		return nil, fmt.Errorf("it is a %T; must be a list collection", u)
	}
	var out []endpoint.Endpoint
	var sum uint64
	for _, member := range list.Entries() {
		if member == nil {
			return nil, errLocated
		}
		m, ok := lbendpoint.Type().Cast(member)
		if !ok {
			return nil, fmt.Errorf("it has a %T; must have endpoints only", member)
		}
		if sum += uint64(m.Weight); sum > math.MaxUint32 {
			return nil, errWeights
		}
		e := endpoint.New(slices.Collect(m.Addresses())...)
		e.Health, e.Weight = endpoint.Health(m.Health), m.Weight
		if m.Hostname != "" || m.Metadata != nil {
			if e.Details == nil {
				e.Details = new(endpoint.Details)
			}
			e.Details.Hostname, e.Details.Metadata = m.Hostname, m.Metadata
		}
		out = append(out, e)
	}
	return out, nil
}
