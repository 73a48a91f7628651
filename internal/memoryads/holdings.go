package memoryads

import (
	"slices"
	"strconv"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Type is a resource type that a server serves.
type Type struct {
	// URL is the type URL of the resources.
	URL string
	// Complete says that a state-of-the-world response has every resource that
	// the client subscribed to, so that absence means removal.
	Complete bool
	// Wildcard says that clients may subscribe to everything. Where they may
	// not, doing so is a violation.
	Wildcard bool
}

// A Resource is a resource that a server has under a name.
type Resource struct {
	Name string
	// Aliases are other names under which clients may subscribe to it.
	Aliases []string
	// Body is the encoded message.
	Body []byte
	// TTL is how long a client may use the resource without hearing of it
	// again; zero for ever.
	TTL time.Duration
	// Wrapped sends the name beside the body also in the state of the world, for
	// messages that carry none.
	Wrapped bool
	// Error, in place of a body, is why there is no resource (xRFC TP3).
	Error *rpcstatus.Status

	version string
}

// called reports whether name is the resource's name or an alias of it.
func (r *Resource) called(name string) bool {
	return r.Name == name || slices.Contains(r.Aliases, name)
}

// trouble is the resource's error as a response has it.
func (r *Resource) trouble() *discoveryv3.ResourceError {
	return &discoveryv3.ResourceError{ResourceName: &discoveryv3.ResourceName{Name: r.Name}, ErrorDetail: r.Error}
}

// holdings are the resources of one type.
type holdings struct {
	Type
	resources map[string]*Resource
	version   int // counts the changes; each is a version of the type
}

func (h *holdings) state() string { return strconv.Itoa(h.version) }

// find returns the resources that are meant by a name: one, the members of a
// glob collection, or all old-style names for "*".
func (h *holdings) find(name string) []*Resource {
	var found []*Resource
	for _, r := range h.sorted() {
		if r.called(name) || covers(name, r.Name) {
			found = append(found, r)
		}
	}
	return found
}

// sorted keeps the order of resources in responses the same in every run.
func (h *holdings) sorted() []*Resource {
	all := make([]*Resource, 0, len(h.resources))
	for _, r := range h.resources {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Resource) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return all
}

// valid returns the resources that are not errors.
func (h *holdings) valid() []*Resource {
	return slices.DeleteFunc(h.sorted(), func(r *Resource) bool { return r.Error != nil })
}

// kept returns the resources whose names are wanted.
func kept(list []*Resource, wants func(name string) bool) []*Resource {
	return slices.DeleteFunc(list, func(r *Resource) bool { return !wants(r.Name) })
}

const wildcard = "*"

// covers reports whether a name stands for several, of which member is one.
func covers(name, member string) bool {
	m, err := xdstp.Parse(member)
	if err != nil {
		return false
	}
	if name == wildcard {
		return !m.IsXdstp()
	}
	n, err := xdstp.Parse(name)
	return err == nil && n.Contains(m)
}
