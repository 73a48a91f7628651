package client

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// The reading goroutine decodes responses with less to decode than a part. Larger responses are
// decoded part by part, by as many goroutines as there are processors.
const (
	partBytes     = 64 << 10
	partResources = 64
)

// updates decodes the new resources of a response. Its results keep their order.
func (ch *channel) updates(w *scratch, t *resource.Descriptor, news []fresh) {
	if len(news) == 0 {
		return
	}
	if w.budget == nil {
		w.budget = ch.client.limits.Response(int64(w.response.Size()))
	}
	parts := parts(news)
	if len(parts) <= 1 {
		ch.part(w, t, news)
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(parts), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
				ch.part(w, t, parts[i])
			}
		})
	}
	wg.Wait()
}

// parts divides the resources to decode into parts.
func parts(news []fresh) (list [][]fresh) {
	start, size := 0, 0
	for i := range news {
		size += len(news[i].body)
		if size >= partBytes || i+1-start >= partResources || i+1 == len(news) {
			list = append(list, news[start:i+1])
			start, size = i+1, 0
		}
	}
	return list
}

// part decodes a part.
func (ch *channel) part(w *scratch, t *resource.Descriptor, news []fresh) {
	d := new(decoding)
	for i := range news {
		if ch.client.closed() {
			return // the loop has ended, and Close waits
		}
		if f := &news[i]; f.body != nil {
			r := &w.results[f.result]
			r.Update, r.Err = ch.update(d, w.budget, t, r, f.body)
		}
	}
}

// decoding is the state for decoding a part's resources, one after the other.
type decoding struct {
	context resource.DecodeContext
	budget  wire.Budget
}

// update returns the cached update of these bytes, or decodes them. It keeps the bytes of the
// resource, not those of the response.
func (ch *channel) update(d *decoding, shared *wire.Shared, t *resource.Descriptor, r *authority.Result, body []byte) (u resource.Update, err error) {
	if shard := ch.client.Shard(t, r.Name); shard != nil {
		if u, ok := unchanged(shard, r.Name, body, ch.server); ok {
			return u, nil
		}
	}
	ch.client.decoded.Start(&d.budget, ch.client.limits, shared)
	d.context = resource.DecodeContext{
		Name: r.Name, Version: r.Version, Server: ch.server,
		Bootstrap: ch.client.config, Types: ch.client.decoded, Budget: &d.budget,
	}
	defer func() {
		if p := recover(); p != nil {
			u, err = nil, panicked(p)
		}
	}()
	if err := d.context.SpendBase(); err != nil {
		return nil, err
	}
	u, err = t.Decode(&d.context, slices.Clone(body))
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
