package authority

import (
	"iter"
	"slices"
)

// fewWatchers is the number of watchers up to which they are searched linearly.
const fewWatchers = 32

// watched reports whether the record has watchers.
func (r *record) watched() bool { return r.watcher != nil || r.rare != nil && len(r.rare.watchers) > 0 }

// watchers yields the watchers of the record. They must not change meanwhile.
func (r *record) watchers() iter.Seq[Watcher] {
	return func(yield func(Watcher) bool) {
		if r.watcher != nil {
			yield(r.watcher)
		} else if r.rare != nil {
			slices.Values(r.rare.watchers)(yield)
		}
	}
}

func (r *record) addWatcher(w Watcher) {
	if !r.watched() {
		r.watcher = w
		return
	}
	x := r.own()
	if r.watcher != nil {
		x.watchers, r.watcher = append(x.watchers, r.watcher), nil
	}
	x.watchers = append(x.watchers, w)
	switch n := len(x.watchers); {
	case x.places != nil:
		x.places[w] = n - 1
	case n > fewWatchers:
		x.places = make(map[Watcher]int, n)
		for i, w := range x.watchers {
			x.places[w] = i
		}
	}
}

func (r *record) removeWatcher(w Watcher) {
	if r.watcher == w {
		r.watcher = nil
		return
	}
	if r.rare == nil {
		return
	}
	x := r.rare
	i, ok := x.places[w]
	if x.places == nil {
		i = slices.Index(x.watchers, w)
		ok = i >= 0
	}
	if !ok {
		return
	}
	last := len(x.watchers) - 1
	if x.places != nil {
		x.places[x.watchers[last]] = i
		delete(x.places, w)
	}
	x.watchers[i], x.watchers[last] = x.watchers[last], nil
	x.watchers = x.watchers[:last]
}
