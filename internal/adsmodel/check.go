package adsmodel

import (
	"maps"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A View is how a client sees the truth.
type View struct {
	Allowed func(url, name string) bool
	Denial  string                       // the error of names that are not allowed
	Unsure  func(name string) bool       // nobody knows the names of this authority; nil: everything is known
	Lenient func(name, text string) bool // whether an error may be in the place of a resource; nil: it may not
}

// Check compares the resources of a client with the truth, at rest.
func (t *Truth) Check(c *Client, v View) {
	c.T.Helper()
	for _, y := range c.Types() {
		if len(y.Names) > 0 && !c.Held(y, v.Unsure) {
			t.check(c, y, v)
		}
	}
}

// Held reports whether responses wait for names that nobody knows: the first one of a stream for each name, because the client
// has resources of an earlier stream, and each one for the wildcard. In both cases, a response would say that resources are
// gone.
func (c *Client) Held(y *Type, unsure func(name string) bool) bool {
	if c.Delta || !c.Complete(y.URL) || unsure == nil {
		return false
	}
	for name := range y.Names {
		if (y.Patient() || name == Wildcard) && unsure(name) {
			return true
		}
	}
	return false
}

func (t *Truth) check(c *Client, y *Type, v View) {
	c.T.Helper()
	want, wantErrs := t.Of(c, y, v.Allowed, v.Denial)
	has, errs := make(map[string]string), maps.Clone(y.Errors)
	for name, h := range y.Has {
		has[name] = h.Body
	}
	if c.Delta && v.waits(y) { // the versions that the client had on an earlier stream are compared when all is known
		maps.DeleteFunc(has, func(name, _ string) bool { _, ok := want[name]; return !ok && !y.Has[name].here })
	}
	v.forgive(want, wantErrs, has, errs)
	if !c.Delta && !c.Complete(y.URL) { // the protocol cannot say that a resource or an error is gone
		for name, body := range has {
			if _, ok := want[name]; !ok && wantErrs[name] == "" {
				want[name] = body
			}
		}
		for name, text := range errs {
			if _, ok := want[name]; !ok && wantErrs[name] == "" {
				wantErrs[name] = text
			}
		}
	}
	if !maps.Equal(has, want) || !maps.Equal(errs, wantErrs) {
		c.T.Errorf("%s, subscribed to %q of %s, has %v and errors %v; want %v and %v",
			c.Name, slices.Sorted(maps.Keys(y.Names)), y.URL, has, errs, want, wantErrs)
	}
	if !c.Delta && c.Complete(y.URL) && y.answers == 0 {
		c.T.Errorf("%s received no response of %s", c.Name, y.URL)
	}
	t.answered(c, y, v)
}

// waits reports whether the client subscribes to a name that nobody knows.
func (v *View) waits(y *Type) bool {
	for name := range y.Names {
		if v.Unsure != nil && v.Unsure(name) {
			return true
		}
	}
	return false
}

// forgive ignores names that nobody knows, and errors that may be.
func (v *View) forgive(want, wantErrs, has, errs map[string]string) {
	for _, m := range []map[string]string{want, wantErrs, has, errs} {
		maps.DeleteFunc(m, func(name, _ string) bool { return v.Unsure != nil && v.Unsure(name) })
	}
	if v.Lenient == nil {
		return
	}
	for name, text := range maps.Clone(errs) {
		if wantErrs[name] == "" && v.Lenient(name, text) {
			delete(errs, name)
			delete(want, name)
			delete(has, name)
		}
	}
}

// answered checks that the client was told about names that do not exist, and received the endpoints of changed clusters.
func (t *Truth) answered(c *Client, y *Type, v View) {
	c.T.Helper()
	for name := range y.warming {
		if r, ok := t.Get(source.Key{Type: y.URL, Name: name}); ok && r.Err == nil && v.Allowed(y.URL, name) && (v.Unsure == nil || !v.Unsure(name)) {
			c.T.Errorf("%s repeats its request for %s of %s, and receives no answer", c.Name, name, y.URL)
		}
	}
	if !c.Delta {
		return
	}
	there := t.there()
	failed := make(map[string]bool) // collections with an error in the place of a member
	for name := range y.Errors {
		failed[Collection(name)] = true
	}
	for name := range y.Names {
		told := failed[name] || y.Gone[name] || y.emptied[name] || y.Errors[name] != "" // the removal of all members empties a glob, too
		if _, exists := there[source.Key{Type: y.URL, Name: name}]; !exists && name != Wildcard && !told && (v.Unsure == nil || !v.Unsure(name)) {
			c.T.Errorf("%s was not told that %s does not exist", c.Name, name)
		}
	}
}

// Rest notes that the client has everything.
func (c *Client) Rest() {
	for _, y := range c.types {
		y.rest = nil
		if y.asked {
			y.rest = maps.Clone(y.Names)
		}
	}
}

// CheckFresh checks that no resource has expired for want of a heartbeat. There are none for resources to skip.
func (c *Client) CheckFresh(skip func(y *Type, name string) bool) {
	c.T.Helper()
	for _, y := range c.types {
		for name, h := range y.Has {
			if h.TTL > 0 && skip(y, name) {
				h.Fresh = time.Now()
			}
			if age := time.Since(h.Fresh); h.TTL > 0 && age >= h.TTL {
				c.T.Errorf("%s has %s with a TTL of %v, and no heartbeat for %v", c.Name, name, h.TTL, age)
			}
		}
	}
}

// A Count has the subscriptions of a stream.
type Count struct {
	Types, Names, Bytes, Longest int
	Collections, Denied          int // collections with permission, and without
}

// Count counts the subscriptions of the stream.
func (c *Client) Count(allowed func(url, name string) bool) (n Count) {
	for _, y := range c.types {
		if !y.asked {
			continue
		}
		n.Types++
		for name := range y.Names {
			n.Names++
			n.Bytes += len(name)
			n.Longest = max(n.Longest, len(name))
			switch {
			case !IsCollection(name):
			case allowed(y.URL, name):
				n.Collections++
			default:
				n.Denied++
			}
		}
	}
	return n
}
