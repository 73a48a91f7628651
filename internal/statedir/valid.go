package statedir

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/source"
)

// lastValid has resources of a file for which the source may have no valid version any more, such as those of a folder whose
// files have errors. They stay in use until the source has a valid version, or no resource. Clients that have a resource
// do the same (gRFC A88).
type lastValid struct {
	mu  sync.Mutex
	has map[source.Key]source.Resource
}

// newLastValid returns the valid resources of a file.
func newLastValid(snap *snapshot) *lastValid {
	v := &lastValid{has: make(map[source.Key]source.Resource, len(snap.resources))}
	for i := range snap.resources {
		if r := &snap.resources[i]; r.Err == nil {
			v.has[r.Key] = *r
		}
	}
	return v
}

// correct replaces the errors in a change for which there is a valid resource.
func (v *lastValid) correct(ch source.Change) source.Change {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.has) == 0 {
		return ch
	}
	ch.Put = slices.Clone(ch.Put)
	wrong := make(map[source.Key]bool)
	for i := range ch.Put {
		r := &ch.Put[i]
		old, ok := v.has[r.Key]
		if ok && ambient(r) && (old.Expires.IsZero() || time.Now().Before(old.Expires)) {
			*r, wrong[r.Key] = old, true
		} else {
			delete(v.has, r.Key)
		}
	}
	for _, k := range ch.Delete {
		delete(v.has, k)
	}
	if slices.Contains(ch.Complete, source.Interest{}) {
		for k := range v.has {
			if !wrong[k] {
				delete(v.has, k) // the source does not have it
			}
		}
	}
	return ch
}

// ambient reports whether a resource is an error that does not remove the resource from clients which have it.
func ambient(r *source.Resource) bool {
	if r.Err == nil {
		return false
	}
	code := codes.Code(r.Err.GetCode()) //nolint:gosec // an unknown code is ambient
	return code != codes.NotFound && code != codes.PermissionDenied
}

// valid is a source whose errors do not hide the last valid resources.
type valid struct {
	source.Source
	last *lastValid
}

// Open implements [source.Source].
func (v valid) Open(ctx context.Context, sink source.Sink) (source.Session, error) {
	return v.Source.Open(ctx, validSink{sink, v.last})
}

type validSink struct {
	source.Sink
	last *lastValid
}

// Apply implements [source.Sink].
func (v validSink) Apply(ch source.Change) error { return v.Sink.Apply(v.last.correct(ch)) }
