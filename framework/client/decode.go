package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/authority"
	"github.com/xdsforge/xdsforge/framework/cache"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

var (
	errNoName  = errors.New("it has no name")
	errTwice   = errors.New("it is listed twice in one response; the specification allows a name once")
	errTooMany = errors.New("a response holds too many resources")
	errNotIt   = errors.New("its decoder returned no update of that name")
)

// decode reads the resources of a response, off the loop. A resource whose bytes
// are cached is not decoded: its result is the cached update itself, which the
// loop recognises. ok is false for a type that is not registered; such a
// response is neither accepted nor rejected.
func (ch *channel) decode(resp *transport.Response, delta bool, known memory) (d decoded, ok bool) {
	t, ok := ch.client.decoded.LookupURL(resp.TypeURL)
	if !ok {
		return decoded{}, false
	}
	d = decoded{typ: t, version: resp.Version, nonce: resp.Nonce, partial: delta}
	seen := known.of(t)
	var rejected rejections
	var at map[xdstp.Name]int // into d.results
	for res := range resp.Resources() {
		if ch.client.closed() {
			break // nobody is left to take it in, and Close waits
		}
		rejected.total++
		if rejected.total > maxResources {
			d.partial = true
			rejected.add(t, rejected.total, "", errTooMany)
			break
		}
		if u, is := seen.unchanged(&res, resp.TypeURL); is {
			if d.unchanged == nil {
				d.unchanged = make([]authority.Unchanged, 0, len(seen.items))
			}
			d.unchanged = append(d.unchanged, u)
			continue
		}
		name, err := ch.name(t, res)
		if err != nil {
			d.partial = true
			rejected.add(t, rejected.total, res.Name, err)
			continue
		}
		if first, twice := at[name]; twice {
			if d.results[first].Err == nil {
				d.results[first] = authority.Result{Name: name, Err: errTwice}
			}
			rejected.add(t, rejected.total, name.String(), errTwice)
			continue
		}
		if at == nil {
			at = make(map[xdstp.Name]int)
		}
		at[name] = len(d.results)
		r := authority.Result{Name: name, Version: resp.Version, TTL: res.TTL, Heartbeat: res.Heartbeat, Aliases: ch.aliases(t, res)}
		if delta || res.Version != "" || res.Heartbeat {
			r.Version = res.Version
		}
		if !res.Heartbeat {
			if r.Update, r.Err = ch.update(t, name, res, r.Version); r.Err != nil {
				rejected.add(t, rejected.total, name.String(), r.Err)
			}
		}
		if res.Name == "" {
			d.plain = append(d.plain, len(d.results))
		}
		d.results = append(d.results, r)
	}
	for i := range d.results {
		if r := &d.results[i]; seen.met(ch.client.Shard(t, r.Name), r.Name) && r.Err == nil {
			r.Update, r.Err = nil, errTwice
			rejected.add(t, rejected.total, r.Name.String(), errTwice)
		}
	}
	d.reject = rejected.String()
	ch.absences(&d, resp)
	return d, true
}

// absences reads what a response says of resources that are not in it. A name that
// cannot be read is none that anybody asked for.
func (ch *channel) absences(d *decoded, resp *transport.Response) {
	limit := len(d.results) + maxResources
	add := func(name string, r authority.Result) {
		n, err := ch.client.config.ParseName(name)
		if err == nil && n.CheckType(d.typ.Name) == nil && len(d.results) < limit {
			r.Name = n
			d.results = append(d.results, r)
		}
	}
	for name := range resp.Removed() {
		add(name, authority.Result{Removed: true})
	}
	for e := range resp.Errors() {
		add(e.Name, authority.Result{Error: &authority.ServerError{Code: e.Code, Message: clip(e.Message, maxQuoted)}})
	}
}

// aliases reads the other names of a resource.
func (ch *channel) aliases(t *resource.Type, res transport.Resource) (names []xdstp.Name) {
	for _, s := range res.Aliases {
		n, err := ch.client.config.ParseName(s)
		if err == nil && n.CheckType(t.Name) == nil {
			names = append(names, n)
		}
	}
	return names
}

// name finds the canonical name of a resource: that of its wrapper, or else the
// one its message carries. A resource that cannot be read has its wrapper's.
func (ch *channel) name(t *resource.Type, res transport.Resource) (xdstp.Name, error) {
	s := res.Name
	if s == "" {
		switch {
		case res.Err != nil:
			return xdstp.Name{}, res.Err
		case transport.MessageName(res.TypeURL) != t.Name:
			return xdstp.Name{}, wrongType(t, res)
		case t.PeekName == nil:
			return xdstp.Name{}, fmt.Errorf("%w; a %s needs the wrapper envoy.service.discovery.v3.Resource", errNoName, t.Name)
		}
		peek := func() (string, error) { return t.PeekName(res.Body) }
		var err error
		if s, err = safely(peek); err != nil {
			return xdstp.Name{}, resource.Unparseable(t.Name, err)
		}
		if s == "" {
			return xdstp.Name{}, errNoName
		}
	}
	n, err := ch.client.config.ParseName(s)
	if err != nil {
		return xdstp.Name{}, err
	}
	return n, n.CheckType(t.Name)
}

// update returns the cached update of these bytes, or decodes them. The bytes
// of the response are let go of, those of the resource are kept.
func (ch *channel) update(t *resource.Type, name xdstp.Name, res transport.Resource, version string) (resource.Update, error) {
	switch {
	case res.Err != nil:
		return nil, res.Err
	case transport.MessageName(res.TypeURL) != t.Name:
		return nil, wrongType(t, res)
	}
	if shard := ch.client.Shard(t, name); shard != nil {
		if u, ok := cache.Unchanged(shard, name, res.Body, ch.server); ok {
			return u, nil
		}
	}
	dc := &resource.DecodeContext{
		Name: name, Version: version, Server: ch.server,
		Bootstrap: ch.client.config, Types: ch.client.decoded,
	}
	body := slices.Clone(res.Body)
	return safely(func() (resource.Update, error) {
		u, err := t.Decode(dc, body)
		if err == nil && (u == nil || u.Name() != name) { // a nil pointer panics
			err = errNotIt
		}
		if err != nil {
			return nil, err
		}
		return u, nil
	})
}

// safely makes a panic of a plugin's code, whatever a control plane has to send to
// cause it, an error of that resource.
func safely[T any](read func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			var none T
			v, err = none, fmt.Errorf("its decoder panicked: %s", clip(fmt.Sprint(p), maxQuoted))
		}
	}()
	return read()
}

func wrongType(t *resource.Type, res transport.Resource) error {
	return fmt.Errorf("it is a %q in a response of type %q", clip(res.TypeURL, maxQuoted), t.URL())
}

// What errors may hold of what a control plane sent, in bytes: text that is
// quoted, and the message of a rejection. What does not fit into that is counted.
const (
	maxQuoted = 1 << 10
	maxReject = 8 << 10
)

// maxResources is how many resources a response may hold, and names beside them. Those
// beyond are not looked at.
const maxResources = 1 << 20

// clip cuts s to a length.
func clip(s string, length int) string {
	if len(s) <= length {
		return s
	}
	return strings.ToValidUTF8(s[:length], "") + "…"
}

// rejections is what a NACK tells the control plane.
type rejections struct {
	b     strings.Builder
	count int
	total int // resources in the response
	left  int // rejected resources that the message does not name
}

func (r *rejections) add(t *resource.Type, number int, name string, err error) {
	r.count++
	who := fmt.Sprintf("%s %q", t.ShortName(), clip(name, maxQuoted))
	if name == "" {
		who = fmt.Sprintf("%s number %d", t.ShortName(), number)
	}
	line := clip(fmt.Sprintf("%s: %v", who, err), maxReject)
	if r.b.Len()+len(line) > maxReject && r.b.Len() > 0 {
		r.left++
		return
	}
	if r.b.Len() > 0 {
		r.b.WriteString("; ")
	}
	r.b.WriteString(strings.ToValidUTF8(line, "\uFFFD"))
}

// String is empty when nothing was rejected.
func (r *rejections) String() string {
	if r.count == 0 {
		return ""
	}
	s := fmt.Sprintf("%d of %d resources rejected: %s", r.count, r.total, r.b.String())
	if r.left > 0 {
		s += fmt.Sprintf("; and %d more", r.left)
	}
	return s
}
