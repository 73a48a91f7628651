package relay_test

import (
	"errors"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsmodel"
)

// settle has the clients read everything, and compares their states with those of the control planes.
func (w *modelWorld) settle() {
	if w.rnd.IntN(2) == 0 {
		w.up(false)
		w.up(true)
	}
	for range 3 { // the relay connects again, its last timer ends, and a response follows
		pass(2 * time.Minute)
		w.truth.Note()
		for _, c := range w.clients {
			c.Drain()
		}
		synctest.Wait()
	}
	wanted := w.wanted()
	if len(wanted) <= w.limit {
		w.active = wanted
	}
	for _, c := range w.clients {
		y := c.Of(thingURL)
		if w.held(c, y) {
			continue
		}
		w.truth.Check(c, adsmodel.View{
			Allowed: func(_, _ string) bool { return true }, Unsure: w.unsure(y),
			Lenient: w.lenient,
		})
		w.checkInvalid(c, y)
		c.Rest()
	}
	w.truth.Rest()
}

// certain reports whether the relay subscribes to a name upstream, by itself or by its collection, and upstream is there.
func (w *modelWorld) certain(y *adsmodel.Type, name string) bool {
	if w.down[other(name)] {
		return false
	}
	collection := adsmodel.Collection(name)
	return y.Names[name] && w.active[name] || y.Names[collection] && w.active[collection]
}

// unsure returns a function that reports whether the model does not know the state of a name for a client: a control plane
// is down, the relay has too many names, or the resource is an error.
func (w *modelWorld) unsure(y *adsmodel.Type) func(name string) bool {
	return func(name string) bool {
		r, ok := w.truth.Resources[source.Key{Type: thingURL, Name: name}]
		return !w.certain(y, name) || ok && r.Err != nil
	}
}

// held reports whether a response in state of the world waits for the members of a collection that nobody knows.
func (w *modelWorld) held(c *adsmodel.Client, y *adsmodel.Type) bool {
	return c.Held(y, func(name string) bool { return !w.certain(y, name) })
}

// lenient reports whether an error may be in the place of a resource: if it does not exist. In state of the world, upstream
// cannot say that, and the relay does not ask for a name above its limit.
func (w *modelWorld) lenient(name, text string) bool {
	_, ok := w.truth.Resources[source.Key{Type: thingURL, Name: name}]
	return !ok && text != ""
}

// checkInvalid checks the resources that upstream has invalid, or refuses: a client has an earlier valid version, or an error.
func (w *modelWorld) checkInvalid(c *adsmodel.Client, y *adsmodel.Type) {
	w.t.Helper()
	for k, r := range w.truth.Resources {
		h := y.Has[k.Name]
		if r.Err == nil || !w.certain(y, k.Name) || h == nil && !y.Names[k.Name] {
			continue
		}
		kept := h != nil && w.valid[h.Body] && r.Err.GetMessage() == "bad"
		if h == nil && y.Errors[k.Name] == "" || h != nil && !kept {
			w.t.Error(errors.New(c.Name), "has", h, "and error", y.Errors[k.Name], "of", k, "which is", r.Err.GetMessage())
		}
	}
}
