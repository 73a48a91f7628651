package adsserver

import "github.com/xdsforge/xdsforge/framework/source"

// A wish is a change of an interest during an event.
type wish uint8

const (
	add wish = 1 + iota
	drop
	renew // dropped, and added again
)

// want adds or drops an interest at the end of the event.
func (f *feed) want(k *kind, name string, w wish) {
	if f == nil {
		return
	}
	if f.wants == nil {
		f.wants = make(map[source.Interest]wish)
	}
	i := source.Interest{Type: k.url, Name: name}
	switch last := f.wants[i]; {
	case last == 0:
		f.wants[i] = w
	case last == add && w == drop:
		delete(f.wants, i)
	case last == drop && w == add:
		f.wants[i] = renew
	case last == renew && w == drop:
		f.wants[i] = drop
	}
}

// flush tells the sources the interests that the event changed.
func (c *Core) flush() {
	for _, f := range c.feeds {
		if len(f.wants) == 0 {
			continue
		}
		var adds, drops []source.Interest
		for i, w := range f.wants {
			if w != drop {
				adds = append(adds, i)
			}
			if w != add {
				drops = append(drops, i)
			}
		}
		f.wants = nil
		f.session.Want(adds, drops)
	}
}
