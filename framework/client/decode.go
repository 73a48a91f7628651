package client

import (
	"errors"
	"fmt"
	"slices"

	"github.com/xdsforge/xdsforge/framework/authority"
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

// decode reads the resources of the response in w, off the loop. A resource whose bytes
// are known is not decoded: the loop is given the update itself, which it recognises. ok
// is false for a type that is not registered; such a response is neither accepted nor
// rejected. What is returned is in w.
func (ch *channel) decode(w *scratch, delta bool, known memory) (d decoded, ok bool) {
	resp := &w.response
	t, ok := ch.client.decoded.LookupURL(resp.TypeURL)
	if !ok {
		return decoded{}, false
	}
	d = decoded{typ: t, version: resp.Version, nonce: resp.Nonce, partial: delta || resp.Len() > maxResources}
	seen := known.of(t)
	n := min(resp.Len(), maxResources)
	seen.scan(w, n)
	ch.list(w, t, delta, n)
	ch.updates(w, t)
	rejected := rejections{total: n, seed: ch.client.seed}
	for i := range w.news {
		f := &w.news[i]
		switch {
		case f.result < 0:
			d.partial = true
			rejected.add(t, f.number, f.name, f.err)
		case f.err != nil: // it has the name of an earlier one
			r := &w.results[f.result]
			if r.Err == nil {
				*r = authority.Result{Name: r.Name, Version: r.Version, Err: f.err}
			}
			rejected.add(t, f.number, r.Name.String(), f.err)
		case w.results[f.result].Err != nil:
			rejected.add(t, f.number, w.results[f.result].Name.String(), w.results[f.result].Err)
		}
	}
	if resp.Len() > n {
		rejected.total++
		rejected.add(t, rejected.total, "", errTooMany)
	}
	if len(w.unchanged) > 0 {
		ch.again(w, seen, t, &rejected)
	}
	if d.reject = rejected.String(); d.reject != "" {
		d.digest, d.bad = digest(ch.client.seed, &w.response), rejected.bad
	}
	ch.absences(w, t)
	d.results, d.news, d.unchanged = w.results, w.news, w.unchanged
	return d, true
}

// list makes results of the first n resources but those that are unchanged, and says in
// w.news what there is to decode.
func (ch *channel) list(w *scratch, t *resource.Type, delta bool, n int) {
	left := n - len(w.unchanged)
	if left == 0 {
		return
	}
	w.names.reset(left)
	w.news, w.results = slices.Grow(w.news, left), slices.Grow(w.results, left)
	for i, found := range w.found {
		if found != 0 {
			continue
		}
		res := w.response.At(i)
		f := fresh{number: i + 1, result: len(w.results), plain: res.Name == ""}
		name, err := ch.name(t, &res)
		if err != nil {
			f.name, f.result, f.err, f.plain = res.Name, -1, err, false
			w.news = append(w.news, f)
			continue
		}
		named := w.names.slot(name, func(i uint32) xdstp.Name { return w.results[i].Name })
		if *named != 0 {
			f.result, f.err, f.plain = int(*named)-1, errTwice, false
			w.news = append(w.news, f)
			continue
		}
		r := authority.Result{Name: name, Version: w.response.Version, TTL: res.TTL, Heartbeat: res.Heartbeat, Aliases: ch.aliases(t, res.Aliases)}
		if delta || res.Version != "" || res.Heartbeat {
			r.Version = res.Version
		}
		switch {
		case res.Heartbeat:
		case res.Err != nil:
			r.Err = res.Err
		case res.TypeURL != w.response.TypeURL && transport.MessageName(res.TypeURL) != t.Name:
			r.Err = wrongType(t, &res)
		default:
			f.body = res.Body
		}
		w.news, w.results = append(w.news, f), append(w.results, r)
		*named = uint32(len(w.results)) //nolint:gosec // responses are bounded
	}
}

// again rejects what has the name of a resource that the response had as it was.
func (ch *channel) again(w *scratch, s *seen, t *resource.Type, rejected *rejections) {
	for i := range w.results {
		if r := &w.results[i]; r.Err == nil && s.met(r.Name) {
			r.Update, r.Err = nil, errTwice
			rejected.add(t, i+1, r.Name.String(), errTwice)
		}
	}
}

// absences reads what a response says of resources that are not in it. A name that
// cannot be read is none that anybody asked for.
func (ch *channel) absences(w *scratch, t *resource.Type) {
	limit := len(w.results) + maxResources
	add := func(name string, r authority.Result) {
		n, err := ch.client.config.ParseName(name)
		if err == nil && n.CheckType(t.Name) == nil && len(w.results) < limit {
			r.Name = n
			w.results = append(w.results, r)
		}
	}
	for name := range w.response.Removed() {
		add(name, authority.Result{Removed: true})
	}
	for e := range w.response.Errors() {
		add(e.Name, authority.Result{Error: &authority.ServerError{Code: e.Code, Message: clip(e.Message, maxQuoted)}})
	}
}

// aliases reads the other names of a resource.
func (ch *channel) aliases(t *resource.Type, list []string) (names []xdstp.Name) {
	for _, s := range list {
		n, err := ch.client.config.ParseName(s)
		if err == nil && n.CheckType(t.Name) == nil {
			names = append(names, n)
		}
	}
	return names
}

// name finds the canonical name of a resource: that of its wrapper, or else the
// one its message carries. A resource that cannot be read has its wrapper's.
func (ch *channel) name(t *resource.Type, res *transport.Resource) (xdstp.Name, error) {
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
		var err error
		if s, err = peek(t, res.Body); err != nil {
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

func peek(t *resource.Type, body []byte) (name string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return t.PeekName(body)
}

func wrongType(t *resource.Type, res *transport.Resource) error {
	return fmt.Errorf("it is a %q in a response of type %q", clip(res.TypeURL, maxQuoted), t.URL())
}

// maxResources is how many resources a response may hold, and names beside them. Those
// beyond are not looked at.
const maxResources = 1 << 20
