// Package world has the resources that a command looks at: those of a running process, of files, or
// of a control plane.
package world

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/offline"
)

// The states of a resource (gRFC A88).
const (
	Requested     = "REQUESTED"
	Acked         = "ACKED"
	Nacked        = "NACKED"
	DoesNotExist  = "DOES_NOT_EXIST"
	Timeout       = "TIMEOUT"
	ReceivedError = "RECEIVED_ERROR"
)

// An Entry is a resource in a world.
type Entry struct {
	Scope   string
	Type    string // full name of the message
	Name    string
	State   string
	Version string
	Updated time.Time
	// Where is the position in a file, or the address of the process.
	Where string
	// Error is the reason of a rejection, or why the resource is not there.
	Error           string
	ErrorAt         time.Time
	RejectedVersion string
	// Content is the resource in use. Nil if there is none.
	Content *anypb.Any
	// Rejected is the rejected resource. Nil if it is not known.
	Rejected *anypb.Any

	update resource.Update
	err    error
}

// Failed reports whether the resource is rejected, or does not exist.
func (e *Entry) Failed() bool { return e.State != Acked && e.State != Requested && e.State != "" }

// Decode returns the decoded resource. It decodes once.
func (e *Entry) Decode(d *offline.Decoder) (resource.Update, error) {
	if e.update == nil && e.err == nil && e.Content != nil {
		e.update, e.err = d.Decode(e.Content, e.Name, e.Version)
	}
	return e.update, e.err
}

// Decoded sets the result of Decode.
func (e *Entry) Decoded(u resource.Update, err error) { e.update, e.err = u, err }

// A World finds resources.
type World interface {
	// Lookup returns a resource. Nil means that the world does not have it. An error means that the
	// world cannot be reached.
	Lookup(ctx context.Context, typ, name string) (*Entry, error)
	// Close ends the subscriptions of the world.
	Close() error
}

// A Static world is a list of resources.
type Static []*Entry

// Lookup implements [World].
func (s Static) Lookup(_ context.Context, typ, name string) (*Entry, error) {
	for _, e := range s {
		if e.Type == typ && e.Name == name {
			return e, nil
		}
	}
	return nil, nil //nolint:nilnil // the world does not have it
}

// Close implements [World].
func (s Static) Close() error { return nil }

// Sort orders entries by scope, place, type in the order of a target's resources, and name.
func (s Static) Sort() {
	slices.SortStableFunc(s, func(a, b *Entry) int {
		return firstOf(strings.Compare(a.Where, b.Where), strings.Compare(a.Scope, b.Scope), rank(a.Type)-rank(b.Type),
			strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
}

func firstOf(list ...int) int {
	for _, c := range list {
		if c != 0 {
			return c
		}
	}
	return 0
}

// rank orders types as a target refers to them.
func rank(typ string) int {
	order := []string{
		"envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration",
		"envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment",
	}
	if i := slices.Index(order, typ); i >= 0 {
		return i
	}
	return len(order)
}
