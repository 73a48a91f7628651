package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// A world is a control plane under test.
type world struct {
	dir       string
	nodes     *etcdtest.Cluster
	daemons   [2]*etcdtest.Daemon // the first one is in use
	balancer  *etcdtest.Balancer
	store     *etcd.Store // of the first reader, and for checks
	publisher *publisher
	progress  *progress
	gaps      map[string][]time.Duration // the longest, by fault
	counts    map[string]int
	closers   []func() error
}

// The readers of the progress.
const (
	ofStore = iota
	ofDaemon
)

// compaction is the time for which the nodes keep revisions. A node that starts reads all revisions, so that without compaction
// the faults would last longer the longer the publisher has run.
const compaction = time.Minute

func newWorld(ctx context.Context, dir string) (w *world, err error) {
	w = &world{dir: dir, progress: newProgress("store", "client"), gaps: make(map[string][]time.Duration), counts: make(map[string]int)}
	if w.nodes, err = etcdtest.Start(ctx, dir, etcdtest.Options{Nodes: 3, Compaction: compaction}); err != nil {
		return w, err
	}
	w.onClose(w.nodes.Close)
	for i := range w.daemons {
		if w.daemons[i], err = w.startDaemon(ctx); err != nil {
			return w, err
		}
		w.onClose(func() error { return w.daemons[i].Kill() })
	}
	if w.balancer, err = etcdtest.NewBalancer(w.daemons[0].Addr, w.daemons[1].Addr); err != nil { //nolint:contextcheck // it ends with Close
		return w, err
	}
	w.onClose(w.balancer.Close)
	if w.publisher, err = startPublisher(ctx, w.nodes.Endpoints(), w.progress.ack); err != nil {
		return w, err
	}
	w.onClose(func() error { return w.publisher.kill() })
	if err := w.progress.more(ctx, 1); err != nil {
		return w, err
	}
	if w.store, err = w.open(); err != nil {
		return w, err
	}
	w.onClose(w.store.Close)
	session, err := w.store.Open(ctx, &sink{has: make(map[source.Key]uint32), progress: w.progress})
	if err != nil {
		return w, err
	}
	session.Want([]source.Interest{{}}, nil)
	err = w.watch(ctx)
	return w, err
}

func (w *world) onClose(f func() error) { w.closers = append(w.closers, f) }

func (w *world) close() {
	for _, f := range slices.Backward(w.closers) {
		_ = f() // the result is known
	}
}

func (w *world) startDaemon(ctx context.Context) (*etcdtest.Daemon, error) {
	return etcdtest.StartDaemon(ctx, "-store", "etcd://"+strings.Join(w.nodes.Endpoints(), ","))
}

// watch follows one resource by a client of the balancer.
func (w *world) watch(ctx context.Context) error {
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds.transport.delta"]}]}`, w.balancer.Addr()))
	if err != nil {
		return err
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		return err
	}
	w.onClose(c.Close)
	go func() {
		for ev := range cluster.Watch(ctx, c, "c0") {
			if ev.Err == nil {
				w.progress.read(ofDaemon, ev.Update.MaxRequests)
			}
		}
	}()
	return nil
}

// A sink checks that all resources of each change are of one transaction.
type sink struct {
	has      map[source.Key]uint32
	progress *progress
}

// Apply implements [source.Sink].
func (s *sink) Apply(c source.Change) error {
	for _, k := range c.Delete {
		delete(s.has, k)
	}
	for i := range c.Put {
		if c.Put[i].Name == mistake {
			continue
		}
		n, err := number(c.Put[i].Body)
		if err != nil {
			s.progress.fail(err)
		}
		s.has[c.Put[i].Key] = n
	}
	n, first := uint32(0), true
	for k, x := range s.has {
		if !first && x != n || len(s.has) != resources {
			s.progress.fail(fmt.Errorf("%w by a reader: %s has %d, others have %d; %d resources", errPart, k, x, n, len(s.has)))
			return nil
		}
		n, first = x, false
	}
	if !first {
		s.progress.read(ofStore, n)
	}
	return nil
}

// State implements [source.Sink].
func (s *sink) State(source.State) {}

// round makes one fault, waits until everything works again, and verifies that nothing is lost. It returns the gaps.
func (w *world) round(ctx context.Context, f fault) ([]time.Duration, error) {
	if err := errors.Join(w.progress.more(ctx, 2), w.progress.caughtUp(ctx)); err != nil {
		return nil, err
	}
	w.progress.gaps()
	if err := wait(ctx, rand.N(50*time.Millisecond)); err != nil {
		return nil, err
	}
	if err := f.make(ctx, w); err != nil {
		return nil, err
	}
	if err := errors.Join(w.progress.more(ctx, 5), w.progress.caughtUp(ctx)); err != nil {
		return nil, err
	}
	if err := w.verify(ctx); err != nil {
		return nil, err
	}
	w.counts[f.name]++
	gaps := w.progress.gaps()
	if w.gaps[f.name] == nil {
		w.gaps[f.name] = make([]time.Duration, len(gaps))
	}
	for i, g := range gaps {
		w.gaps[f.name][i] = max(w.gaps[f.name][i], g)
	}
	return gaps, nil
}

// verify compares the store with the acknowledgements, and the daemons with each other.
func (w *world) verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	w.progress.mu.Lock()
	acknowledged := w.progress.acknowledged
	w.progress.mu.Unlock()
	var state *etcd.State
	for state == nil { // one try fails if its node is still starting
		var err error
		if state, err = w.store.State(ctx, 0); err != nil && ctx.Err() != nil {
			return err
		}
	}
	n, err := numberOf(state.Resources)
	if err != nil {
		return fmt.Errorf("in the store: %w", err)
	}
	if n < acknowledged {
		return fmt.Errorf("transaction %d was acknowledged, and the store has %d", acknowledged, n)
	}
	return w.compare(ctx)
}

// compare compares the sums of both daemons and of this process until two are of the same revision, or all if there is another store
// to compare with.
func (w *world) compare(ctx context.Context, others ...*etcd.Store) error {
	for ctx.Err() == nil {
		var digests []etcd.Digest
		for _, d := range w.daemons {
			s, err := d.Status(ctx)
			if err != nil {
				return err
			}
			st := s.Sources[0].Store
			digests = append(digests, etcd.Digest{Epoch: st.Epoch, Revision: st.Revision, Sums: st.Sums})
		}
		digests = append(digests, w.store.Digest())
		for _, s := range others {
			digests = append(digests, s.Digest())
		}
		same, all := false, true
		for i, a := range digests {
			for _, b := range digests[i+1:] {
				if !a.Equal(b) {
					return fmt.Errorf("different resources of one revision: %+v and %+v", a, b)
				}
				equal := a.Revision > 0 && a.Epoch == b.Epoch && a.Revision == b.Revision
				same, all = same || equal, all && equal
			}
		}
		if all || same && len(others) == 0 {
			return nil
		}
	}
	return context.Cause(ctx)
}

// report prints the gaps.
func (w *world) report(out io.Writer, rounds int) {
	fmt.Fprintf(out, "%d faults, %d transactions acknowledged, none lost, none seen in part\n", rounds, w.progress.acks)
	st := w.store.Status()
	fmt.Fprintf(out, "the store reader left a node %d times, and read all resources %d times\n", st.Switches, st.Lists)
	fmt.Fprintf(out, "%-28s %7s %20s %16s %16s\n", "fault", "times", "publisher waits", "store reader", "client")
	for _, f := range faults() {
		if g := w.gaps[f.name]; g != nil {
			fmt.Fprintf(out, "%-28s %7d %20v %16v %16v\n", f.name, w.counts[f.name], g[0].Round(time.Millisecond), g[1+ofStore].Round(time.Millisecond), g[1+ofDaemon].Round(time.Millisecond))
		}
	}
}

// wait waits for a time.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
