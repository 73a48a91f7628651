package adsserver

import "github.com/xdsforge/xdsforge/framework/source"

// A wish is a change of an interest during an event.
type wish uint8

const (
	add wish = 1 + iota
	drop
	renew // dropped, and added again
)

// spare is the number of elements up to which a map or list of one event is kept for the next one.
const spare = 1024

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
		adds, drops := make([]source.Interest, 0, len(f.wants)), make([]source.Interest, 0, len(f.wants))
		for i, w := range f.wants {
			if w != drop {
				adds = append(adds, i)
			}
			if w != add {
				drops = append(drops, i)
			}
		}
		if len(f.wants) > spare {
			f.wants = nil
		}
		clear(f.wants)
		f.session.Want(adds, drops)
	}
}
