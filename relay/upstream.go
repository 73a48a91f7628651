package relay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// An upstream is the interest of all sessions in a name or a collection. It is subscribed to upstream
// unless that is impossible or exceeds the limit. The mutex of the relay guards its fields.
type upstream struct {
	source.Interest
	relay   *Relay
	users   map[*session]struct{}
	members map[string]source.Resource // the resource, or those of the collection, by name
	known   bool                       // upstream has answered, or refused is set
	refused bool                       // members has an error of the relay itself
	stop    func()                     // nil: not subscribed
	ended   bool
	timer   *time.Timer // of the end of lingering
	overdue *time.Timer // nil for a collection
}

// answerTimeout is the time after which clients get an error for a name that upstream does not answer. It
// is shorter than the resource timer of clients (gRFC A57): a state-of-the-world response of Listeners or
// Clusters waits for all names, and would make the others of the client time out.
const answerTimeout = 10 * time.Second

// collection reports whether the interest has several resources.
func (u *upstream) collection() bool {
	if u.Name == source.Wildcard {
		return true
	}
	n, err := xdstp.Parse(u.Name)
	return err == nil && n.IsGlob()
}

// use returns the upstream of an interest, which it subscribes to if needed. r.mu is held.
func (r *Relay) use(i source.Interest) *upstream {
	u := r.upstreams[i]
	if u == nil {
		u = &upstream{Interest: i, relay: r, users: make(map[*session]struct{}), members: make(map[string]source.Resource)}
		r.upstreams[i] = u
		r.start(u)
		return u
	}
	if _, ok := r.lingering[u]; ok {
		delete(r.lingering, u)
		u.timer.Stop()
	}
	return u
}

// start subscribes upstream. r.mu is held.
func (r *Relay) start(u *upstream) {
	if r.active >= r.options.subscriptions {
		for other := range r.lingering {
			r.remove(other)
			break
		}
	}
	if r.active >= r.options.subscriptions {
		r.parked[u] = struct{}{}
		u.refuse(codes.ResourceExhausted, fmt.Errorf("relay: upstream subscriptions = %d; must not be more than %d (WithMaxSubscriptions)",
			r.active+1, r.options.subscriptions))
		return
	}
	stop, err := r.subscribe(u)
	if err != nil {
		u.refuse(codes.InvalidArgument, fmt.Errorf("relay: %w", err))
		return
	}
	u.stop = stop
	r.active++
	if !u.collection() {
		u.overdue = time.AfterFunc(answerTimeout, u.expire)
	}
}

// expire gives clients an error in the place of a resource that upstream does not send.
func (u *upstream) expire() {
	u.relay.mu.Lock()
	defer u.relay.mu.Unlock()
	if u.known || u.ended {
		return
	}
	u.refuse(codes.Unavailable, fmt.Errorf("relay: upstream has not answered for %v", answerTimeout))
	u.resolve()
}

// subscribe starts the subscription of the client.
func (r *Relay) subscribe(u *upstream) (stop func(), err error) {
	message := envelope.MessageName(u.Type)
	if t := r.lists[message]; t != nil {
		return r.client.SubscribeList(t, u.Name, u.notify)
	}
	t, ok := r.types.Lookup(message)
	if !ok {
		return nil, fmt.Errorf("type = %q; must be registered with the client, or be allowed by AllowUnknown", u.Type)
	}
	if !u.collection() {
		return r.client.Subscribe(t, u.Name, u.notify)
	}
	o, err := r.client.ObserveCollection(t, u.Name)
	if err != nil {
		return nil, err
	}
	r.running.Go(func() { u.observe(o) })
	return o.Stop, nil
}

// refuse gives clients an error in the place of the resource. They get no response for a name that no
// resource can have, and for a collection. r.mu is held.
func (u *upstream) refuse(code codes.Code, err error) {
	if u.collection() {
		return
	}
	u.known, u.refused = true, true
	x := problem(u.key(u.Name), code, err)
	if new(source.Tx).Put(x).Check() == nil {
		u.change([]source.Resource{x}, nil)
	}
}

func (u *upstream) key(name string) source.Key { return source.Key{Type: u.Type, Name: name} }

// notify handles the newest state of a resource or a list collection.
func (u *upstream) notify(next, _ resource.State) {
	x, kind := translate(u.key(u.Name), next)
	u.relay.mu.Lock()
	defer u.relay.mu.Unlock()
	first := !u.known
	u.known = u.known || kind != unknown
	switch kind {
	case unknown:
		return
	case present:
		u.refused = false
		u.change([]source.Resource{x}, nil)
	case absent:
		u.refused = false
		u.change(nil, []string{u.Name})
	}
	if first {
		u.overdue.Stop()
		u.resolve()
	}
}

// observe handles the states of the members of a collection until the subscription ends.
func (u *upstream) observe(o resource.CollectionObservation) {
	for {
		s, err := o.Next(context.Background()) // Stop and the end of the client end it
		if err != nil {
			return
		}
		var put []source.Resource
		var gone []string
		for _, m := range s.Members {
			x, kind := translate(u.key(m.Name.String()), m.State)
			switch kind {
			case unknown:
			case present:
				put = append(put, x)
			case absent:
				gone = append(gone, x.Name)
			}
		}
		u.relay.mu.Lock()
		if isAbsent(s.Err) { // the collection is empty, and its former members are not all told by name
			gone = slices.AppendSeq(gone, maps.Keys(u.members))
		}
		u.change(put, gone)
		if !u.known && (s.Synced || isAbsent(s.Err)) {
			u.known = true
			u.resolve()
		}
		u.relay.mu.Unlock()
	}
}

// resolve lets the sessions report the answer of upstream. r.mu is held.
func (u *upstream) resolve() {
	for s := range u.users {
		s.inner.Want([]source.Interest{u.Interest}, nil)
	}
}

// change records resources, and names without one. r.mu is held.
func (u *upstream) change(put []source.Resource, gone []string) {
	if u.ended || len(put)+len(gone) == 0 {
		return
	}
	names := make([]string, 0, len(put)+len(gone))
	for _, x := range put {
		u.members[x.Name] = x
		names = append(names, x.Name)
	}
	for _, name := range gone {
		delete(u.members, name)
		names = append(names, name)
	}
	u.relay.settle(u.Type, names)
}

// settle commits the newest state of some names. The subscription to a name has precedence over that to
// its collection: both have the states of the client, one perhaps later than the other. An error of the relay itself, because
// of a limit or a missing answer, never hides the resource of the collection. r.mu is held.
func (r *Relay) settle(url string, names []string) {
	tx := new(source.Tx)
	for _, name := range names {
		if x, ok := r.newest(source.Key{Type: url, Name: name}); ok {
			tx.Put(x)
		} else {
			tx.Delete(source.Key{Type: url, Name: name})
		}
	}
	if _, err := r.memory.Commit(context.Background(), tx); err != nil {
		r.options.logger.Warn("upstream resources not relayed", "error", err) // above a limit of source.Tx
	}
}

func (r *Relay) newest(k source.Key) (x source.Resource, ok bool) {
	own := r.upstreams[source.Interest(k)]
	if own != nil && own.known && !own.refused {
		x, ok = own.members[k.Name]
		return x, ok
	}
	if u := r.upstreams[source.Interest{Type: k.Type, Name: collectionOf(k.Name)}]; u != nil {
		if x, ok = u.members[k.Name]; ok {
			return x, ok
		}
	}
	if own != nil && own.known {
		x, ok = own.members[k.Name]
	}
	return x, ok
}

// collectionOf returns the collection of a name.
func collectionOf(name string) string {
	if n, err := xdstp.Parse(name); err == nil {
		if glob, ok := n.Glob(); ok {
			return glob.String()
		}
	}
	return source.Wildcard
}

// drop ends the use by a session. Only a subscription lingers. r.mu is held.
func (u *upstream) drop(s *session) {
	delete(u.users, s)
	switch {
	case len(u.users) > 0 || u.ended:
	case u.stop == nil:
		u.relay.remove(u)
	default:
		u.relay.lingerUntil(u)
	}
}

// remove ends an upstream without users, and forgets its resources. Another one that waits for the limit
// takes its place. r.mu is held.
func (r *Relay) remove(u *upstream) {
	delete(r.lingering, u)
	delete(r.parked, u)
	delete(r.upstreams, u.Interest)
	u.end()
	names := make([]string, 0, len(u.members))
	for name := range u.members {
		names = append(names, name)
	}
	if len(names) > 0 {
		r.settle(u.Type, names)
	}
	for other := range r.parked {
		if r.active >= r.options.subscriptions {
			break
		}
		delete(r.parked, other)
		r.start(other)
	}
}

// end ends the subscription. r.mu is held.
func (u *upstream) end() {
	u.ended = true
	if u.timer != nil {
		u.timer.Stop()
	}
	if u.overdue != nil {
		u.overdue.Stop()
	}
	if u.stop != nil {
		u.stop()
		u.stop = nil
		u.relay.active--
	}
}
