package adsmodel

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A Truth has the resources of the sources.
type Truth struct {
	Resources map[source.Key]source.Resource
	universe  []source.Key        // all names, aliases and collections
	absent    map[source.Key]bool // at the last rest or at a time since then
	invalid   map[source.Key]bool // absent, or only an error, as above
}

// NewTruth returns a truth without resources. The universe has all names, aliases and collections of the model.
func NewTruth(universe []source.Key) *Truth {
	t := &Truth{Resources: make(map[source.Key]source.Resource), universe: universe}
	t.Rest()
	return t
}

// Rest notes that all clients know the resources.
func (t *Truth) Rest() {
	t.absent, t.invalid = make(map[source.Key]bool), make(map[source.Key]bool)
	t.Note()
}

// Note notes the names that do not exist. It is called after each change, also those that time makes.
func (t *Truth) Note() {
	there := t.there()
	for _, k := range t.universe {
		switch valid, ok := there[k]; {
		case !ok:
			t.absent[k], t.invalid[k] = true, true
		case !valid:
			t.invalid[k] = true
		}
	}
}

// there returns all names, aliases and collections that exist: true for those with a resource, and not only an error.
func (t *Truth) there() map[source.Key]bool {
	now := time.Now()
	there := make(map[source.Key]bool, 2*len(t.Resources))
	for k, r := range t.Resources {
		if !alive(&r, now) {
			continue
		}
		for _, name := range append([]string{k.Name, Collection(k.Name)}, r.Aliases...) {
			k := source.Key{Type: k.Type, Name: name}
			there[k] = there[k] || r.Err == nil
		}
	}
	return there
}

// WasAbsent reports whether a name did not exist at a time since the last rest.
func (t *Truth) WasAbsent(k source.Key) bool { return t.absent[k] }

// WasInvalid reports whether a name had no resource at a time since the last rest, but perhaps an error.
func (t *Truth) WasInvalid(k source.Key) bool { return t.invalid[k] }

func alive(r *source.Resource, now time.Time) bool {
	return r.Expires.IsZero() || now.Before(r.Expires)
}

// Get returns a resource that exists.
func (t *Truth) Get(k source.Key) (r source.Resource, ok bool) {
	r, ok = t.Resources[k]
	return r, ok && alive(&r, time.Now())
}

// Clone returns the resources.
func (t *Truth) Clone() map[source.Key]source.Resource { return maps.Clone(t.Resources) }

// Of returns the bodies and the errors that a client must have of a type.
func (t *Truth) Of(c *Client, y *Type, allowed func(url, name string) bool, denial string) (has, errs map[string]string) {
	has, errs = make(map[string]string), make(map[string]string)
	now := time.Now()
	subscribed := func(name string) bool { return y.Names[name] && allowed(y.URL, name) }
	for k, r := range t.Resources {
		aliased := c.Delta && slices.ContainsFunc(r.Aliases, subscribed)
		switch {
		case k.Type != y.URL || !alive(&r, now) || !aliased && !subscribed(k.Name) && !subscribed(Collection(k.Name)):
		case r.Err != nil:
			errs[k.Name] = r.Err.GetMessage()
		default:
			has[k.Name] = string(r.Body)
		}
	}
	for name := range y.Names {
		if !allowed(y.URL, name) {
			errs[name] = denial
		}
	}
	return has, errs
}

func nameIn(body string) string {
	name, _, _ := strings.Cut(body, "=")
	return name
}
