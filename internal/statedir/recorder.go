package statedir

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A recorder is the sink of a session that wants everything of a source. It writes the resources to a file.
type recorder struct {
	dir      *Dir
	id, file string
	ctx      context.Context //nolint:containedctx // of the session
	cancel   context.CancelFunc
	running  sync.WaitGroup
	wake     chan struct{} // has a token if a write may be due
	known    func()        // called when the source has reported all its resources

	mu        sync.Mutex
	has       map[source.Key]source.Resource
	epoch     string
	revision  uint64
	complete  bool // has is all that the source has
	live      bool
	first     time.Time // of the changes that are not written; zero: there are none
	last      time.Time // of the changes
	confirmed time.Time // of the file
	retry     time.Time // after a failure
	failure   string    // the last one
	omitted   int       // resources with secrets that the file lacks
}

func newRecorder(d *Dir, id, file string) *recorder {
	r := &recorder{dir: d, id: id, file: file, wake: make(chan struct{}, 1), has: make(map[source.Key]source.Resource)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Apply implements [source.Sink].
func (r *recorder) Apply(ch source.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ch.Epoch != r.epoch {
		clear(r.has)
		r.complete = false
	}
	r.epoch, r.revision = ch.Epoch, ch.Revision
	for i := range ch.Put {
		r.has[ch.Put[i].Key] = ch.Put[i]
	}
	for _, k := range ch.Delete {
		delete(r.has, k)
	}
	if slices.Contains(ch.Complete, source.Interest{}) {
		r.complete = true
		r.known()
	}
	r.last = time.Now()
	if r.first.IsZero() {
		r.first = r.last
	}
	r.signal()
	return nil
}

// State implements [source.Sink].
func (r *recorder) State(s source.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live = s.Kind == source.Live
	r.signal()
}

func (r *recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close writes the changes that are not written yet, and ends the session.
func (r *recorder) close() {
	r.cancel()
	r.running.Wait()
}

// run writes the file when it is due, until the session ends.
func (r *recorder) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if at := r.due(); at.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(at))
		}
		select {
		case <-r.wake:
		case <-timer.C:
			r.write()
		case <-r.ctx.Done():
			r.mu.Lock()
			left := r.complete && !r.first.IsZero()
			r.mu.Unlock()
			if left {
				r.write()
			}
			return
		}
	}
}

// due returns when to write or confirm the file, or zero.
func (r *recorder) due() (at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := &r.dir.options
	switch {
	case !r.complete:
		return at
	case !r.first.IsZero():
		at = r.last.Add(o.Quiet)
		if latest := r.first.Add(o.MaxDelay); latest.Before(at) {
			at = latest
		}
	case r.live && !r.confirmed.IsZero():
		at = r.confirmed.Add(o.MaxDelay)
	default:
		return at
	}
	if at.Before(r.retry) {
		at = r.retry
	}
	return at
}

// write writes the resources if they have changed, and confirms the file otherwise.
func (r *recorder) write() {
	r.mu.Lock()
	now := time.Now()
	changed := !r.first.IsZero()
	s := &snapshot{header: header{Source: r.id, Epoch: r.epoch, Revision: r.revision, Written: now.UnixMilli()}}
	if changed {
		s.resources = make([]source.Resource, 0, len(r.has))
		for _, x := range r.has {
			s.resources = append(s.resources, x)
		}
	}
	since := r.first
	r.first = time.Time{}
	r.mu.Unlock()

	omitted := r.omitted
	var err error
	if changed {
		slices.SortFunc(s.resources, func(a, b source.Resource) int {
			return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
		})
		omitted, err = r.dir.write(r.file, s)
	} else {
		err = r.dir.confirm(r.file, now)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	logger := r.dir.options.Logger
	if err != nil {
		if r.failure != err.Error() {
			logger.Warn("the state directory cannot be written", "dir", r.dir.options.Path, "source", r.id, "error", err)
		}
		r.failure, r.retry = err.Error(), now.Add(r.dir.options.MaxDelay)
		if changed && (r.first.IsZero() || since.Before(r.first)) {
			r.first = since
		}
		if !changed {
			r.confirmed = now
		}
		return
	}
	if r.failure != "" {
		logger.Info("the state directory is written again", "dir", r.dir.options.Path, "source", r.id)
	}
	if omitted > 0 && r.omitted == 0 {
		logger.Warn("resources with secrets are not written to the state directory; set a key", "dir", r.dir.options.Path, "source", r.id, "resources", omitted)
	}
	r.failure, r.retry, r.confirmed, r.omitted = "", time.Time{}, now, omitted
}
