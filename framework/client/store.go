package client

import (
	"fmt"
	"slices"
	"sync"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/xdstp"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// storeScheme begins the URI of the server entry that stands for the store.
const storeScheme = "last-known-good:"

// A storeUse is a client's use of the last known good store (ADR 238). The store is a server entry of its
// own, the last one of each authority. Its session has an ADS stream in memory.
type storeUse struct {
	store   *lkg.Store
	client  *Client
	session *session

	mu sync.Mutex
	// origins are the servers that sent the resources that the stream has returned. Their updates
	// have these servers, so that a decoder reads them as it did at first.
	origins map[origin]*bootstrap.Server
}

type origin struct{ typ, name string }

// newStoreUse sets up the session of the store.
func newStoreUse(c *Client, store *lkg.Store) (*storeUse, error) {
	server, err := bootstrap.NewServer(bootstrap.ServerSpec{
		URI: storeScheme + store.Status().Dir, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}, Features: []any{feature.TransportDelta},
	})
	if err != nil {
		return nil, fmt.Errorf("client: the entry of the last known good store: %w", err)
	}
	u := &storeUse{store: store, client: c, origins: make(map[origin]*bootstrap.Server)}
	u.session = c.loop.session(server)
	u.session.store = u
	return u, nil
}

// originOf returns the server that sent a resource which the store returned.
func (u *storeUse) originOf(t *resource.Descriptor, name xdstp.Name) *bootstrap.Server {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.origins[origin{t.Name, name.String()}]; s != nil {
		return s
	}
	return u.session.server
}

// join makes the store the last server of an authority.
func (u *storeUse) join(a *authorityScope, config *authority.Config) {
	u.session.users = append(u.session.users, user{a, len(a.sessions)})
	a.sessions = append(a.sessions, u.session)
	config.Servers = append(config.Servers, u.session.server)
	config.Store = true
	a.writer = u.store.Writer(a.stored())
}

// stored returns the authority as the store knows it.
func (a *authorityScope) stored() lkg.Authority {
	return lkg.Authority{Name: a.name, OldStyle: a.oldStyle}
}

// keep passes the changes of an authority to the store.
func (a *authorityScope) keep(list []authority.Stored) {
	if a.writer == nil {
		return
	}
	if len(list) > 0 {
		changes := make([]lkg.Change, 0, len(list))
		for i := range list {
			changes = append(changes, a.change(&list[i]))
		}
		a.writer.Apply(changes)
	}
	if reachable, settled := a.machine.Reachable(), a.machine.Settled(); reachable != a.reachable || settled != a.settled {
		a.reachable, a.settled = reachable, settled
		a.writer.SetState(reachable, settled)
	}
}

func (a *authorityScope) change(s *authority.Stored) lkg.Change {
	c := lkg.Change{Resource: lkg.Resource{Type: s.Type.Name, Name: s.Name.String()}}
	switch s.Op {
	case authority.StoreDelete:
		c.Op = lkg.Delete
		return c
	case authority.StoreRelease:
		c.Op = lkg.Release
		return c
	case authority.StorePut:
	}
	if s.Update == nil {
		c.Collection = true
		if i, ok := a.machine.Active(); ok {
			c.Server = a.sessions[i].server.Key()
		}
		return c
	}
	if name := s.Update.Name(); name != s.Name {
		c.AliasOf = name.String()
	}
	c.Version, c.Server, c.Body, c.Expires = s.Version, s.Update.Server().Key(), s.Update.Raw(), s.Expires
	return c
}

// dropInvalid drops stored resources that today's decoders reject.
func (u *storeUse) dropInvalid(d *decoded) {
	for i := range d.results {
		r := &d.results[i]
		if a := u.client.find(r.Name); a != nil && r.Err != nil {
			u.store.Reject(a.stored(), d.typ.Name, r.Name.String(), r.Version)
		}
	}
}

// entries returns the resources of a name of the authority: itself, or the members of a collection.
// Without an error, the store has them.
func (u *storeUse) entries(a *authorityScope, typ string, name xdstp.Name) (list []lkg.Resource, ok bool) {
	r, ok := u.store.Lookup(a.stored(), typ, name.String())
	if !ok {
		return nil, false
	}
	if !r.Collection {
		return []lkg.Resource{r}, a.server(r.Server) != nil
	}
	list = u.store.Members(a.stored(), typ, func(member string) bool {
		n, err := u.client.config.ParseName(member)
		return err == nil && (name.IsGlob() && name.Contains(n) || !name.IsGlob() && !n.IsXdstp())
	})
	list = slices.DeleteFunc(list, func(r lkg.Resource) bool { return a.server(r.Server) == nil })
	return list, len(list) > 0
}

// server returns the live server of the authority with a key, or nil: the store has no resources for the
// servers of another bootstrap.
func (a *authorityScope) server(key string) *bootstrap.Server {
	for _, ses := range a.sessions {
		if ses.store == nil && ses.server.Key() == key {
			return ses.server
		}
	}
	return nil
}

// OpenStream implements [transport.Conn].
func (u *storeUse) open() transport.Conn {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.origins)
	return storeConn{u}
}

// release is the giveBack of the connection to the store, which nobody shares.
func (u *storeUse) release(bool) {}
