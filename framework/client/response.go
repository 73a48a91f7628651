package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

var (
	errNoName    = errors.New("it has no name")
	errTwice     = errors.New("it is listed twice in one response; the specification allows a name once")
	errTooMany   = errors.New("a response holds too many resources")
	errExcessive = errors.New("it exceeds the member limit of its collection (xdsforge.WithLimits, CollectionMembers)")
	errNotIt     = errors.New("its decoder returned no update of that name")
)

// decode reads the resources of the response in w, off the loop. It does not decode a resource
// whose bytes are known: it passes the known update to the loop, which recognises it. Nor does it
// decode an unwatched resource. The slices of d belong to w. If ok is false, the stream is over.
func (s *stream) decode(w *scratch, t *resource.Descriptor, known typeCaches) (d decoded, ok bool) {
	resp := &w.response
	w.cache = known.of(t)
	n := min(resp.Len(), maxResources)
	w.cache.scan(w, n)
	w.left = slices.Grow(w.left, n-len(w.unchanged))
	for i, found := range w.found {
		if found == 0 {
			w.left = append(w.left, uint32(i))
		}
	}
	w.names.Reset(min(len(w.left), askedAtOnce))
	return s.more(w, t)
}

// more decodes those of the remaining resources that are watched by now. If ok is false, the stream
// is over.
func (s *stream) more(w *scratch, t *resource.Descriptor) (d decoded, ok bool) {
	w.results = w.results[:w.resources] // without removals and errors of the response
	news := len(w.fresh)
	generation, ok := s.look(w, t)
	if !ok {
		return decoded{}, false
	}
	w.resources = len(w.results)
	s.session.updates(w, t, w.fresh[news:])
	d = s.session.conclude(w, t)
	d.partial, d.delta = d.partial || s.delta, s.delta
	d.generation, d.left = generation, len(w.left)
	ok = s.absences(w, t)
	d.results, d.fresh, d.unchanged = w.results, w.fresh, w.unchanged
	d.count()
	return d, ok
}

// conclude collects the rejected resources of a response, in its order.
func (ses *session) conclude(w *scratch, t *resource.Descriptor) decoded {
	resp := &w.response
	d := decoded{typ: t, version: resp.Version, nonce: resp.Nonce, partial: resp.Len() > maxResources || w.unreadable > 0}
	rejected := rejections{total: min(resp.Len(), maxResources), seed: ses.client.seed}
	slices.SortStableFunc(w.fresh, func(a, b fresh) int { return cmp.Compare(a.number, b.number) })
	for i := range w.fresh {
		f := &w.fresh[i]
		switch {
		case f.result < 0:
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
	rejected.more(w.unreadable - min(w.unreadable, maxUnreadable))
	if resp.Len() > maxResources {
		rejected.total++
		rejected.add(t, rejected.total, "", errTooMany)
	}
	if len(w.unchanged) > 0 {
		ses.again(w, w.cache, t, &rejected)
	}
	d.total, d.invalid = resp.Len(), rejected.count
	if d.reject = rejected.String(); d.reject != "" {
		d.digest, d.bad, d.rejected = digest(ses.client.seed, resp), rejected.bad, rejected.names
	}
	return d
}

// maxUnreadable is the limit of errors for resources without a name. Further ones are only counted.
const maxUnreadable = 100

// look adds results for the remaining resources that are watched, and adds those to decode to
// w.fresh. The others remain. The generation is that of the watches at the beginning. If ok is
// false, the stream is over.
func (s *stream) look(w *scratch, t *resource.Descriptor) (generation uint64, ok bool) {
	left := w.left
	w.left = w.left[:0] // w.left is never ahead of left
	for first := true; len(left) > 0; first = false {
		part := left[:min(len(left), askedAtOnce)]
		left = left[len(part):]
		q := w.question(t)
		for _, i := range part {
			s.session.mention(w, t, i)
		}
		if !s.ask(q) {
			return 0, false
		}
		if first {
			generation = q.generation
		}
		w.expect(q, len(left))
		for i := range q.names {
			a := &q.names[i]
			if a.want == authority.Unwanted {
				w.left = append(w.left, a.number)
				continue
			}
			if a.want == authority.Excessive {
				a.says.Err, a.body = errExcessive, nil
			}
			if a.says.Record == (authority.Handle{}) { // otherwise the name is that of the record
				a.says.Name, _ = s.session.client.config.ParseName(strings.Clone(a.says.Name.String())) // a name without errors
			}
			w.result(a)
		}
	}
	return generation, true
}

// expect makes room for the results of a question, and for those of further resources, as if as many
// of them were watched.
func (w *scratch) expect(q *question, further int) {
	wanted := 0
	for i := range q.names {
		if q.names[i].want != authority.Unwanted {
			wanted++
		}
	}
	if wanted > 0 {
		room := wanted + wanted*further/len(q.names)
		w.fresh, w.results = slices.Grow(w.fresh, room), slices.Grow(w.results, room)
		w.names.Grow(room)
	}
}

// mention adds a resource to the question, unless its name cannot be read.
func (ses *session) mention(w *scratch, t *resource.Descriptor, i uint32) {
	res := w.response.At(int(i))
	name, err := ses.name(t, &res)
	if err != nil {
		w.unread(int(i), res.Name, err)
		return
	}
	a := asked{number: i, plain: res.Name == ""}
	a.says = authority.Result{Name: name, Version: w.response.Version, TTL: res.TTL, Heartbeat: res.Heartbeat, Aliases: ses.aliases(t, res.Aliases)}
	if w.response.Delta() || res.Version != "" || res.Heartbeat {
		a.says.Version = res.Version
	}
	switch {
	case res.Heartbeat:
	case res.Err != nil:
		a.says.Err = res.Err
	case res.TypeURL != w.response.TypeURL && envelope.MessageName(res.TypeURL) != t.Name:
		a.says.Err = wrongType(t, &res)
	default:
		a.body = res.Body
	}
	w.asks.add(a)
}

// unread records that a resource has no readable name.
func (w *scratch) unread(i int, name string, err error) {
	w.unreadable++
	if w.unreadable <= maxUnreadable {
		w.fresh = append(w.fresh, fresh{number: i + 1, name: clip(name), result: -1, err: err})
	}
}

// result adds the result of a watched resource. Its name must not share the memory of the response.
func (w *scratch) result(a *asked) {
	f := fresh{number: int(a.number) + 1, result: len(w.results), plain: a.plain, body: a.body}
	number := w.names.Add(a.says.Name.String(), uint32(len(w.results)+1), w.nameOf) //nolint:gosec // responses are bounded
	if int(number) <= len(w.results) {
		f.result, f.err, f.plain, f.body = int(number)-1, errTwice, false, nil
		w.fresh = append(w.fresh, f)
		return
	}
	w.fresh, w.results = append(w.fresh, f), append(w.results, a.says)
}

// again rejects resources with the name of an unchanged resource in the same response.
func (ses *session) again(w *scratch, s *typeCache, t *resource.Descriptor, rejected *rejections) {
	for i := range w.results {
		if r := &w.results[i]; r.Err == nil && s.met(r.Name) {
			r.Update, r.Err = nil, errTwice
			rejected.add(t, i+1, r.Name.String(), errTwice)
		}
	}
}

// absences reads the removals and errors of a response, which are about resources that it does not
// contain. It ignores unreadable names, because nobody subscribed to them. If ok is false, the
// stream is over.
func (s *stream) absences(w *scratch, t *resource.Descriptor) (ok bool) {
	q, number, ok := w.question(t), 0, true
	flush := func() {
		if ok = s.ask(q); !ok {
			return
		}
		for i := range q.names {
			if q.names[i].want == authority.Wanted {
				w.results = append(w.results, q.names[i].says)
			}
		}
		q = w.question(t)
	}
	add := func(name string, r authority.Result) bool {
		n, err := s.session.client.config.ParseName(name)
		if err == nil && n.CheckType(t.Name) == nil {
			r.Name = n
			q.add(asked{says: r})
		}
		number++
		if len(q.names) == askedAtOnce {
			flush()
		}
		return ok && number < maxResources
	}
	for name := range w.response.Removed() {
		if !add(name, authority.Result{Removed: true}) {
			break
		}
	}
	for e := range w.response.Errors() {
		if !ok || !add(e.Name, authority.Result{Error: &authority.ServerError{Code: e.Code, Message: clip(e.Message)}}) {
			break
		}
	}
	if ok {
		flush()
	}
	return ok
}

// aliases reads the other names of a resource.
func (ses *session) aliases(t *resource.Descriptor, list []string) (names []xdstp.Name) {
	for _, s := range list {
		n, err := ses.client.config.ParseName(s)
		if err == nil && n.CheckType(t.Name) == nil {
			names = append(names, n)
		}
	}
	return names
}

// name returns the canonical name of a resource: that of its wrapper, or else the one in its
// message. If the message cannot be read, it uses the wrapper's. The name may share the memory of the response.
func (ses *session) name(t *resource.Descriptor, res *envelope.Resource) (xdstp.Name, error) {
	s := res.Name
	if s == "" {
		switch {
		case res.Err != nil:
			return xdstp.Name{}, res.Err
		case envelope.MessageName(res.TypeURL) != t.Name:
			return xdstp.Name{}, wrongType(t, res)
		case t.PeekName == nil:
			return xdstp.Name{}, fmt.Errorf("%w; a %s needs the wrapper envoy.service.discovery.v3.Resource", errNoName, t.Name)
		}
		var err error
		if s, err = peek(t, res.Body); err != nil {
			return xdstp.Name{}, wire.Unparseable(t.Name, err)
		}
		if s == "" {
			return xdstp.Name{}, errNoName
		}
	}
	n, err := ses.client.config.ParseName(s)
	if err != nil {
		return xdstp.Name{}, err
	}
	return n, n.CheckType(t.Name)
}

func peek(t *resource.Descriptor, body []byte) (name string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return t.PeekName(body)
}

func wrongType(t *resource.Descriptor, res *envelope.Resource) error {
	return fmt.Errorf("it is a %q in a response of type %q", clip(res.TypeURL), t.URL())
}

// maxResources is the limit of resources in a response, and of further names in it. Those beyond
// are ignored.
const maxResources = 1 << 20

// A question asks the loop which resources of a response are watched: only those are
// decoded. The loop owns the watches, and they change while a response is decoded. So each
// answer has a generation. If it is out of date when the response reaches the loop, the
// loop sends the reader back to the remaining resources.
type question struct {
	stream *stream
	typ    *resource.Descriptor
	names  []asked
	// response is the number of the response; 0 before the first answer.
	response uint64
	// generation is that of the watches of the type when the loop answered.
	generation uint64
}

// An asked is a resource in a question.
type asked struct {
	says   authority.Result // without the result of decoding
	number uint32           // in the response, from 0
	body   []byte           // nil: there is nothing to decode
	plain  bool             // its name is the one in its message
	want   authority.Want   // the answer
}

// askedAtOnce is the limit of resources in a question. It limits the number of unwatched resources
// held in memory.
const askedAtOnce = 1 << 10

func (q *question) add(a asked) { q.names = append(q.names, a) }

// question returns an empty question, which replaces the last one.
func (w *scratch) question(t *resource.Descriptor) *question {
	clear(w.asks.names)
	w.asks = question{typ: t, names: w.asks.names[:0], response: w.asks.response}
	return &w.asks
}

// ask waits for the loop's answer, and reports whether it came. If not, the stream is over, and the
// caller must not use the scratch any more.
func (s *stream) ask(q *question) bool {
	if len(q.names) == 0 {
		return true
	}
	q.stream = s
	s.loop.lend(q.answer)
	select {
	case <-s.replied:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// answer answers the question. Loop only.
func (q *question) answer() {
	ses, l := q.stream.session, q.stream.loop
	q.generation = ses.generation(q.typ)
	if q.response == 0 {
		l.asked++
		q.response = l.asked
	}
	for i := range q.names {
		a := &q.names[i]
		if scope := l.client.find(a.says.Name); scope != nil {
			a.want = scope.machine.Wants(q.typ, &a.says, q.response)
		}
	}
	q.stream.replied <- struct{}{}
}

// generation returns a number that grows with every watch of the type that a response of the
// session might concern.
func (ses *session) generation(t *resource.Descriptor) (sum uint64) {
	for _, u := range ses.users {
		sum += u.machine.Generation(t)
	}
	return sum
}
