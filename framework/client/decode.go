package client

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/internal/byname"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/envelope"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// decoded is a response whose resources have been read.
type decoded struct {
	typ     *resource.Descriptor
	version string
	nonce   string
	reject  string // not empty: the reason of the rejection
	digest  uint64 // of all resources of a rejected response
	bad     []uint64
	// rejected are the names of rejected resources, clipped; at most maxBad and one more.
	rejected []string
	results  []authority.Result
	fresh    []fresh // the resources behind results
	// unchanged are the resources whose bytes are those of an earlier response.
	unchanged []authority.Unchanged
	// total is the number of resources. Of these, valid ones are new; invalid ones include those
	// without a name. removed is the number of removals, which are not in total.
	total, valid, invalid, removed int
	partial                        bool // resources missing from results may exist nevertheless
	delta                          bool
	// left is the number of resources that were not decoded because nobody watched them, at a
	// generation of the watches. The reader does not decode more of them after last.
	left       int
	generation uint64
	last       bool
}

// named reports whether a delta response has only resources that are watched. A server may send the
// other ones as members of a wildcard.
func (d *decoded) named() bool { return d.delta && d.left == 0 && len(d.results) > 0 }

// of returns the results that belong to an authority, and their positions. Nil positions mean that it
// has all results.
func (d *decoded) of(c *Client, a *authorityScope) (results []authority.Result, at []int) {
	n := 0
	for i := range d.results {
		if c.find(d.results[i].Name) == a {
			n++
		}
	}
	if n == len(d.results) {
		return d.results, nil
	}
	results, at = make([]authority.Result, 0, n), make([]int, 0, n)
	for i, r := range d.results {
		if c.find(r.Name) == a {
			results, at = append(results, r), append(at, i)
		}
	}
	return results, at
}

// resources yields the facts that the stream's machine must remember.
func (d *decoded) resources(yield func(ads.Resource) bool) {
	for _, u := range d.unchanged {
		if !yield(ads.Resource{Name: u.Update.Name().String(), Version: d.version}) {
			return
		}
	}
	for i := range d.results {
		if r, ok := resourceOf(&d.results[i]); ok && !yield(r) {
			return
		}
	}
}

// resourceOf returns the facts of a result. ok is false if there are none.
func resourceOf(r *authority.Result) (out ads.Resource, ok bool) {
	out = ads.Resource{Name: r.Name.String()}
	switch {
	case r.Update != nil || r.Heartbeat:
		out.Version, out.Heartbeat = r.Version, r.Heartbeat
		for _, alias := range r.Aliases {
			out.Aliases = append(out.Aliases, alias.String())
		}
	case r.Removed:
		out.Verdict = ads.Removed
	case r.Err != nil || r.Error != nil:
		out.Verdict = ads.Rejected
	default:
		return out, false
	}
	return out, true
}

// apply passes the results to the authorities. It ignores a resource of an authority that this
// server does not serve: only the bootstrap decides which servers serve an authority (gRFC A47).
func (d *decoded) apply(l *loop, ses *session) {
	if ses.store != nil {
		ses.store.dropInvalid(d)
	}
	for _, u := range ses.users {
		results, at := d.of(l.client, u.authorityScope)
		u.machine.Received(&authority.Response{
			Server: u.server, Type: d.typ, Results: results, Unchanged: d.unchanged, Version: d.version, Partial: d.partial,
			Elsewhere: len(results) == 0 && d.named(),
		}, l.now)
		l.authority(u.authorityScope)
		d.record(results, at)
	}
}

// record copies the records that an authority assigned to its results.
func (d *decoded) record(results []authority.Result, at []int) {
	for k, i := range at {
		d.results[i].Record = results[k].Record
	}
}

// The reading goroutine decodes responses with less to decode than a batch. Larger responses are
// decoded batch by batch, by as many goroutines as there are processors.
const (
	batchBytes     = 64 << 10
	batchResources = 64
)

// updates decodes new resources of a response. Its results keep their order.
func (ses *session) updates(w *scratch, t *resource.Descriptor, list []fresh) {
	if len(list) == 0 {
		return
	}
	if w.budget == nil {
		w.budget = ses.client.limits.Response(int64(w.response.Size()))
	}
	batches := batches(list)
	if len(batches) <= 1 {
		ses.batch(w, t, list)
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(batches), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(batches); i = int(next.Add(1)) - 1 {
				ses.batch(w, t, batches[i])
			}
		})
	}
	wg.Wait()
}

// batches divides the resources to decode.
func batches(list []fresh) (all [][]fresh) {
	start, size := 0, 0
	for i := range list {
		size += len(list[i].body)
		if size >= batchBytes || i+1-start >= batchResources || i+1 == len(list) {
			all = append(all, list[start:i+1])
			start, size = i+1, 0
		}
	}
	return all
}

// batch decodes the resources of a batch.
func (ses *session) batch(w *scratch, t *resource.Descriptor, list []fresh) {
	d := new(decoding)
	for i := range list {
		if ses.client.closed() {
			return // the loop has ended, and Close waits
		}
		if f := &list[i]; f.body != nil {
			r := &w.results[f.result]
			if r.Update, r.Err = ses.update(d, w.budget, t, r, f.body); r.Err != nil {
				r.Message = f.body
			}
		}
	}
}

// decoding is the state for decoding the resources of a batch, one after the other.
type decoding struct {
	context resource.DecodeContext
	budget  wire.Budget
}

// update returns the cached update of these bytes, or decodes them. It keeps the bytes of the
// resource, not those of the response.
func (ses *session) update(d *decoding, shared *wire.Shared, t *resource.Descriptor, r *authority.Result, body []byte) (u resource.Update, err error) {
	server := ses.server
	if ses.store != nil {
		server = ses.store.originOf(t, r.Name)
	}
	if !r.New { // a needless look would take 1.4 % of the start-up with 100,000 resources
		if shard := ses.client.Shard(t, r.Name); shard != nil {
			if u, ok := unchanged(shard, r.Name, body, server); ok {
				return u, nil
			}
		}
	}
	ses.client.decoded.Start(&d.budget, ses.client.limits, shared)
	dc := &d.context // for all resources of the batch, so that their updates share what is equal
	dc.Name, dc.Version, dc.Server, dc.Budget = r.Name, r.Version, server, &d.budget
	dc.Bootstrap, dc.Types = ses.client.config, ses.client.decoded
	defer func() {
		if p := recover(); p != nil {
			u, err = nil, panicked(p)
		}
	}()
	if err := dc.SpendBase(); err != nil {
		return nil, err
	}
	u, err = t.Decode(dc, slices.Clone(body))
	if err == nil && (u == nil || u.Name() != r.Name) { // calling Name on a nil pointer panics
		err = errNotIt
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// panicked converts a panic of a plugin's code, which a control plane might cause, to an error of
// that resource.
func panicked(p any) error {
	return fmt.Errorf("its decoder panicked: %s", printable.Value(p))
}

// unchanged returns the update that a shard holds under name, if it was decoded from the same bytes
// of the same server. Such a resource needs neither decoding nor delivery. Any goroutine.
func unchanged(s resource.Shard, name xdstp.Name, body []byte, server *bootstrap.Server) (resource.Update, bool) {
	u, ok := s.Load(name)
	if !ok || !bytes.Equal(u.Raw(), body) || !u.Server().Equal(server) {
		return nil, false
	}
	return u, true
}

// A scratch holds the memory for reading a response. Responses of all streams reuse it, one after
// another. It is collected when it is unused for a while.
type scratch struct {
	response envelope.Response

	found     []uint32 // by number of the resource: an item of the type cache, plus one; 0: none
	unchanged []authority.Unchanged
	group     [64]candidate

	left       []uint32 // resources, from 0, that are not in results: unwatched, as far as is known
	asks       question
	fresh      []fresh
	unreadable int // resources without a name
	results    []authority.Result
	resources  int                  // number of results for resources in the response
	names      byname.Table[uint32] // numbers of results, from 1
	cache      *typeCache           // of the type
	budget     *wire.Shared
}

// A fresh is a resource that was not recognised as unchanged.
type fresh struct {
	number int    // in the response, from 1
	name   string // the name in its wrapper, if that is unreadable
	result int    // its result, or that of the first of the same name; not used if err means that it has no name
	body   []byte // nil: there is nothing to decode
	err    error  // the reason why it is rejected before decoding
	plain  bool   // its name is the one in its message
}

// release drops all references to a response.
func (w *scratch) release() {
	clear(w.unchanged)
	clear(w.group[:])
	clear(w.fresh)
	clear(w.results)
	clear(w.asks.names)
	w.unchanged, w.fresh, w.results = w.unchanged[:0], w.fresh[:0], w.results[:0]
	w.left, w.asks = w.left[:0], question{names: w.asks.names[:0]}
	w.unreadable, w.resources, w.cache, w.budget = 0, 0, nil, nil
	w.response.Forget()
}

// grown returns a slice of n elements with arbitrary values.
func grown[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// nameOf returns the name of the result with a number.
func (w *scratch) nameOf(number uint32) string { return w.results[number-1].Name.String() }
