package client

import (
	"errors"
	"fmt"
	"testing"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A mailbox that no watcher reads has only the newest state.
func TestBoxOfMembersThatComeAndGo(t *testing.T) {
	name := func(i int) xdstp.Name {
		n, err := xdstp.Parse(fmt.Sprint("member ", i))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	bad, gone := resource.State{Err: errors.New("bad")}, resource.State{Err: resource.ErrRemoved}
	b := newCollectionMailbox(&Client{})
	for i := range 100 {
		b.put(name(i), bad)
		if i%10 != 0 {
			b.put(name(i), gone)
		}
	}
	if len(b.states) != 10 {
		t.Errorf("%d members in the mailbox, want 10", len(b.states))
	}
	s, changed := b.take()
	if !changed || len(s.Members) != 10 {
		t.Fatalf("took %d members, want 10", len(s.Members))
	}
	for i, m := range s.Members {
		if m.Name != name(10*i) || !errors.Is(m.Err, bad.Err) {
			t.Errorf("member %d is %v", i, m)
		}
	}
	b.put(name(0), gone)
	b.put(name(10), gone)
	b.put(name(10), bad) // as it was
	if s, _ := b.take(); len(s.Members) != 1 || s.Members[0].Name != name(0) || !errors.Is(s.Members[0].Err, gone.Err) {
		t.Errorf("took %v, want no first member", s.Members)
	}
	if len(b.taken) != 9 || len(b.states) != 0 {
		t.Errorf("%d taken, %d new; want 9 and none", len(b.taken), len(b.states))
	}
}

// TestMailboxReleasesChangesTogether expects the owner to get the members of a collection together
// with the state Synced, although it reads in between.
func TestMailboxReleasesChangesTogether(t *testing.T) {
	c := &Client{}
	c.loop = newLoop(c, ads.Config{})
	o := &collectionSubscription{collectionMailbox: newCollectionMailbox(c)}
	empty := func(when string) {
		t.Helper()
		if s, changed := o.take(); changed {
			t.Errorf("%s: took %+v, want nothing", when, s)
		}
		if len(o.ready) != 0 {
			t.Errorf("%s: the owner was woken", when)
		}
	}
	o.NotifyMember(old(t, "n"), resource.State{Err: errNoName})
	empty("after a member")
	o.Notify(resource.State{Origin: resource.OriginPrimary})
	empty("after the collection")
	c.loop.releaseFilled()
	if len(o.ready) != 1 {
		t.Error("the owner was not woken after all notices")
	}
	if s, _ := o.take(); !s.Synced || len(s.Members) != 1 {
		t.Errorf("took %+v, want one member, synced", s)
	}
	c.loop.releaseFilled() // no mailbox is held any more
	o.NotifyMember(old(t, "n"), resource.State{Err: errTwice})
	if len(c.loop.filled) != 1 {
		t.Error("the next notices are not held")
	}
	o.stop()
	c.loop.releaseFilled()
	if o.filling != 0 {
		t.Error("a stopped mailbox is still held")
	}
}
