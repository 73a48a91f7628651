package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"sync"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// withCollections adds a type for the list collections of each type that has them.
func withCollections(types *resource.Set, members int) (*resource.Set, error) {
	var lists []*resource.Descriptor
	for _, t := range types.All() {
		if t.Collection == "" {
			continue
		}
		if _, registered := types.Lookup(t.Collection); registered {
			return nil, fmt.Errorf("client: %s is registered as a type of its own; it is the list collection of %s", t.Collection, t.Name)
		}
		lists = append(lists, &resource.Descriptor{
			Name: t.Collection,
			Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
				return decodeList(t, dc, body, members)
			},
			NewShard: func() resource.Shard { return runtime.NewShard[*list]() },
		})
	}
	return types.With(lists...)
}

// A list is a list collection. Its members are inlined or located elsewhere (TP1).
type list struct {
	resource.Meta
	order   []xdstp.Name // of the entries
	inlined map[xdstp.Name]resource.Update
	located map[xdstp.Name]struct{}
}

// Entries yields the members in the order of the list. The update of a located member is nil.
func (l *list) Entries() iter.Seq2[xdstp.Name, resource.Update] {
	return func(yield func(xdstp.Name, resource.Update) bool) {
		for _, n := range l.order {
			if !yield(n, l.inlined[n]) {
				return
			}
		}
	}
}

// memberSize is the approximate size of a list member in bytes, without its resource.
const memberSize = 512

// listEntries is the only field of every list collection's message.
const listEntries = 1

func decodeList(t *resource.Descriptor, dc *resource.DecodeContext, body []byte, members int) (resource.Update, error) {
	l := &list{Meta: dc.Meta(body), inlined: make(map[xdstp.Name]resource.Update), located: make(map[xdstp.Name]struct{})}
	var v resource.Violations
	var p resource.Path
	for i, b := 0, body; len(b) > 0; {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil, wire.Unparseable(t.Collection, protowire.ParseError(n))
		}
		field := b[:n]
		b = b[n:]
		if num != listEntries || typ != protowire.BytesType {
			continue
		}
		if i == members {
			v.Add(p.Field("entries"), nil, fmt.Sprintf("must not be more than %d (xdsforge.WithLimits, CollectionMembers)", members))
			break
		}
		at := p.Item("entries", i)
		i++
		_, _, tag := protowire.ConsumeTag(field)
		value, _ := protowire.ConsumeBytes(field[tag:])
		if err := l.entry(t, dc, value); err != nil {
			v.AddError(at, err)
		}
	}
	return l, v.Err()
}

func (l *list) entry(t *resource.Descriptor, dc *resource.DecodeContext, b []byte) error {
	e := new(xdscorev3.CollectionEntry)
	if err := dc.Unmarshal(b, e); err != nil {
		return err
	}
	if err := dc.Spend(1, memberSize); err != nil {
		return err
	}
	switch e.GetResourceSpecifier().(type) {
	case *xdscorev3.CollectionEntry_Locator:
		n, err := located(e.GetLocator())
		if err == nil {
			err = n.CheckType(t.Name)
		}
		if _, twice := l.inlined[n]; err == nil && twice {
			err = twoEntries(n)
		}
		if _, again := l.located[n]; err == nil && !again {
			l.located[n] = struct{}{}
			l.order = append(l.order, n)
		}
		return err
	case *xdscorev3.CollectionEntry_InlineEntry_:
		return l.inline(t, dc, e.GetInlineEntry())
	}
	return errors.New("must have a locator or an inline entry (TP1)")
}

// inline decodes an inlined member. A member whose message has no name gets one in the directory of the
// collection: the name of its entry, or else "#" and its position. No entry may have such a name.
func (l *list) inline(t *resource.Descriptor, dc *resource.DecodeContext, e *xdscorev3.CollectionEntry_InlineEntry) error {
	a := e.GetResource()
	if got := envelope.MessageName(a.GetTypeUrl()); got != t.Name {
		return fmt.Errorf("it is a %q in a collection of type %q", clip(got), t.Name)
	}
	var s string
	if t.PeekName != nil {
		var err error
		if s, err = t.PeekName(a.GetValue()); err != nil {
			return wire.Unparseable(t.Name, err)
		}
	}
	if s == "" {
		s = strings.Replace(l.Name().String(), "/"+t.Collection+"/", "/"+t.Name+"/", 1)
		path, params, _ := strings.Cut(s, "?")
		id := e.GetName()
		if id == "" {
			id = "#" + strconv.Itoa(len(l.order))
		}
		s = path + "/" + xdstp.EncodePath(id) + "?" + params
	}
	inner := *dc
	var err error
	if inner.Name, err = dc.ParseName(s); err != nil {
		return err
	}
	if err := inner.Name.CheckType(t.Name); err != nil {
		return err
	}
	if !sameAuthority(inner.Name, l.Name()) {
		return fmt.Errorf("name = %q; must have the authority %q of the collection", clip(inner.Name.String()), l.Name().Authority())
	}
	_, twice := l.inlined[inner.Name]
	if _, elsewhere := l.located[inner.Name]; twice || elsewhere {
		return twoEntries(inner.Name)
	}
	if inner.Version = dc.Version; e.GetVersion() != "" {
		inner.Version = e.GetVersion()
	}
	u, err := t.Decode(&inner, a.GetValue())
	if err != nil {
		return err
	}
	l.inlined[inner.Name] = u
	l.order = append(l.order, inner.Name)
	return nil
}

// twoEntries is the error of two entries for one name, of which one or both are inlined: it is unclear
// which of them applies.
func twoEntries(n xdstp.Name) error { return fmt.Errorf("%q is there twice", clip(n.String())) }

// sameAuthority reports whether both names belong to one authority of the bootstrap. Only
// its servers may send the resource (gRFC A47).
func sameAuthority(a, b xdstp.Name) bool {
	return a.IsXdstp() == b.IsXdstp() && a.Authority() == b.Authority()
}

// located returns the name in a locator.
func located(l *xdscorev3.ResourceLocator) (xdstp.Name, error) {
	if l.GetScheme() != xdscorev3.ResourceLocator_XDSTP {
		return xdstp.Name{}, fmt.Errorf("locator.scheme = %v; must be XDSTP, the only one that can be watched", l.GetScheme())
	}
	params := make(url.Values)
	for k, v := range l.GetExactContext().GetParams() {
		params.Set(k, v)
	}
	query := strings.ReplaceAll(params.Encode(), "+", "%20") // in an xdstp name, '+' is not a space
	return xdstp.Parse("xdstp://" + xdstp.EncodeAuthority(l.GetAuthority()) + "/" + l.GetResourceType() + "/" + xdstp.EncodePath(l.GetId()) + "?" + query)
}

// A listSubscription is a subscription to a list collection: to the list itself, and to all members
// that it locates elsewhere.
type listSubscription struct {
	*collectionMailbox
	typ *resource.Descriptor

	mu      sync.Mutex
	list    *list
	located map[xdstp.Name]*locatedMember
	unknown int    // members of located without a state
	cancel  func() // of the list
	stopped bool
}

// SubscribeList calls f with the states of a list collection of a type, as Subscribe does for a
// resource. The updates have the encoded list. Nothing subscribes to the members that it locates.
func (c *Client) SubscribeList(t *resource.Descriptor, name string, f func(next, last resource.State)) (stop func(), err error) {
	if f == nil {
		return nil, errNoFunction
	}
	if err := c.known(t); err != nil {
		return nil, err
	}
	collection, ok := c.decoded.Lookup(t.Collection)
	if !ok {
		return nil, fmt.Errorf("client: %s has no list collections; they are not declared for the type", t.Name)
	}
	return c.subscribe(context.Background(), collection, name, &subscription{to: syncWatcher(f)})
}

// ListType returns the type of list collections with this message. [resource.Find] uses it.
func (c *Client) ListType(message string) (*resource.Descriptor, bool) {
	return c.decoded.Lookup(message)
}

func (c *Client) observeList(t *resource.Descriptor, n xdstp.Name) (resource.CollectionObservation, error) {
	collection, _ := c.decoded.Lookup(t.Collection)
	if err := n.CheckType(t.Collection); err != nil {
		return nil, fmt.Errorf("client: watching a collection of type %s: %w", t.ShortName(), err)
	}
	o := &listSubscription{collectionMailbox: newCollectionMailbox(c), typ: t, located: make(map[xdstp.Name]*locatedMember)}
	cancel, err := c.subscribe(context.Background(), collection, n.String(), &subscription{to: syncWatcher(o.notify)})
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cancel = cancel
	return o, nil
}

// notify handles the newest state of the list.
func (o *listSubscription) notify(s, last resource.State) {
	o.hold()
	defer o.release()
	if s.Update != nil && (s.Update != last.Update || s.Origin != last.Origin) {
		o.changed(s.Update.(*list), s.Origin)
	}
	o.trouble(s.Err, s.Update != nil)
}

// changed starts to use another version of the list.
func (o *listSubscription) changed(next *list, from resource.Origin) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped {
		return
	}
	o.leave(next)
	for name, member := range next.inlined {
		o.put(name, resource.State{Update: member, Origin: from})
	}
	for name := range next.located {
		if _, ok := o.located[name]; ok {
			continue
		}
		m := &locatedMember{list: o, name: name}
		cancel, err := o.client.subscribe(context.Background(), o.typ, name.String(), &subscription{to: syncWatcher(m.notify)})
		if err != nil {
			o.put(name, resource.State{Err: err})
			continue
		}
		m.cancel = cancel
		o.located[name] = m
		o.unknown++
	}
	o.list = next
	o.complete()
}

// complete records that every member of a list is known. o.mu is held.
func (o *listSubscription) complete() {
	if o.list != nil && o.unknown == 0 {
		o.sync()
	}
}

// resolved records that a located member is known, or no longer a member. o.mu is held.
func (o *listSubscription) resolved(m *locatedMember) {
	if !m.known {
		m.known = true
		o.unknown--
	}
}

// leave ends the membership of members that are not in the next list.
func (o *listSubscription) leave(next *list) {
	if o.list == nil {
		return
	}
	gone := func(name xdstp.Name) {
		o.put(name, resource.State{Err: &resource.Error{
			Kind: resource.ErrRemoved, Type: o.typ.Name, Name: name, Err: errNoMember,
			Server: o.list.Server().URI(), NodeID: o.client.nodeID,
		}})
	}
	for name := range o.list.inlined {
		_, inlined := next.inlined[name]
		if _, located := next.located[name]; !inlined && !located {
			gone(name)
		}
	}
	for name := range o.list.located {
		if _, located := next.located[name]; located {
			continue
		}
		if m, ok := o.located[name]; ok {
			m.cancel()
			o.resolved(m)
			delete(o.located, name)
		}
		if _, inlined := next.inlined[name]; !inlined {
			gone(name)
		}
	}
}

var errNoMember = errors.New("the collection lists it no longer")

// Stop implements [resource.CollectionObservation].
func (o *listSubscription) Stop() {
	if !o.stop() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	o.cancel()
	for _, m := range o.located {
		m.cancel()
	}
}

// A locatedMember watches a member that is located elsewhere.
type locatedMember struct {
	list   *listSubscription
	name   xdstp.Name
	known  bool // a state came; guarded by list.mu, as all fields of the list
	cancel func()
}

// notify handles the newest state. It ignores the state if the list has dropped the member
// meanwhile: a callback that had begun may outlast its cancel.
func (m *locatedMember) notify(s, _ resource.State) {
	m.list.mu.Lock()
	defer m.list.mu.Unlock()
	if m.list.located[m.name] == m {
		m.list.hold()
		defer m.list.release()
		m.list.put(m.name, s)
		m.list.resolved(m)
		m.list.complete()
	}
}
