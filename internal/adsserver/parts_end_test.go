package adsserver

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A counting source never reports anything. It counts the interests of each event.
type counting struct {
	silent
	most, added, dropped *int
}

func (c counting) Open(context.Context, source.Sink) (source.Session, error) { return c, nil }

func (c counting) Want(add, drop []source.Interest) {
	*c.most = max(*c.most, len(add), len(drop))
	*c.added += len(add)
	*c.dropped += len(drop)
}

// Subscriptions to names and to collections begin and end in parts, whatever ends them, so that others have the lock in
// between.
func TestManySubscriptionsEndInParts(t *testing.T) {
	const part, n = 4, 30
	for what, format := range map[string]string{"names": "name-%d", "globs": globs} {
		all := numbered(format, n)
		for end, f := range map[string]func(t *testing.T, st *Stream){
			"the end": func(_ *testing.T, st *Stream) { st.Close(ErrClosed) },
			"an unsubscription": func(t *testing.T, st *Stream) {
				requests(func(int) proto.Message { return deltaOf(nil, all) }, 1)(t, st)
			},
			"a replacement": func(t *testing.T, st *Stream) {
				requests(func(int) proto.Message { return wholeOf([]string{"other"}) }, 1)(t, st)
			},
		} {
			s := counting{most: new(int), added: new(int), dropped: new(int)}
			c, err := New(Config{Source: s})
			if err != nil {
				t.Fatal(err)
			}
			pauses := 0
			c.part, c.between = part, func() { pauses++ }
			st, err := c.Open(end != "a replacement")
			if err != nil {
				t.Fatal(err)
			}
			first := proto.Message(wholeOf(all))
			if st.delta {
				first = deltaOf(all, nil)
			}
			requests(func(int) proto.Message { return first }, 1)(t, st)
			pauses = 0
			f(t, st)
			if *s.dropped != n {
				t.Errorf("%s, %s: %d interests end, want %d", what, end, *s.dropped, n)
			}
			if *s.most > part {
				t.Errorf("%s, %s: %d interests change in one hold of the lock, want at most %d", what, end, *s.most, part)
			}
			if pauses < n/part {
				t.Errorf("%s, %s: others have the lock %d times, want at least %d", what, end, pauses, n/part)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
