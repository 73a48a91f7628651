package adsserver

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A slowAuthority is the authority "b" with a source of its own, which does not answer at first. The nil slowAuthority
// is none: the main source has the resources.
type slowAuthority struct {
	rnd   *rand.Rand
	store *source.Memory
	up    bool
	sleep atomic.Bool // time passes: a goroutine of the core may work, which must not change the world
}

const slowPrefix = "xdstp://b/"

// newSlow makes an authority for a third of the sequences. Its choices do not change those of the others.
func newSlow(seed uint64, config *Config) *slowAuthority {
	s := &slowAuthority{rnd: rand.New(rand.NewPCG(seed, 2)), store: source.NewMemory()}
	if s.rnd.IntN(3) > 0 {
		return nil
	}
	s.store.SetState(source.State{})
	config.Authorities = map[string]source.Source{"b": s.store}
	config.AnswerTimeout = 10 * time.Second
	return s
}

// wait lets time pass, or has the source begin to answer.
func (s *slowAuthority) wait() {
	if s == nil || s.up {
		return
	}
	switch s.rnd.IntN(12) {
	case 0, 1, 2:
		s.pass(6 * time.Second)
	case 3:
		s.live()
	}
}

func (s *slowAuthority) pass(d time.Duration) {
	s.sleep.Store(true)
	pass(d)
	s.sleep.Store(false)
}

func (s *slowAuthority) live() {
	s.up = true
	s.store.SetState(source.State{Kind: source.Live})
}

// take commits the operations of the authority, and returns the others.
func (s *slowAuthority) take(t *testing.T, tx *source.Tx) *source.Tx {
	if s == nil {
		return tx
	}
	own, rest := new(source.Tx), new(source.Tx)
	for _, o := range tx.Operations() {
		to := rest
		if strings.HasPrefix(o.Name, slowPrefix) {
			to = own
		}
		if o.Delete {
			to.Delete(o.Key)
		} else {
			to.Put(o.Resource)
		}
	}
	if _, err := s.store.Commit(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	return rest
}

// begin has the source answer before the state of the clients is compared. Before that, clients of delta must have
// everything else after the bound, and no client was told anything but errors.
func (s *slowAuthority) begin(w *world) {
	if s == nil || s.up {
		return
	}
	s.pass(11 * time.Second)
	for i, c := range w.clients {
		w.acting = c
		for c.next("") {
			w.pairs(c)
		}
		for _, y := range c.types {
			for name := range y.gone {
				if strings.HasPrefix(name, slowPrefix) {
					w.t.Errorf("client %d was told that %s is gone, and its source has not answered", i, name)
				}
			}
			for name := range y.names {
				if c.delta && strings.HasPrefix(name, slowPrefix) && !isCollection(name) && y.errors[name] == "" {
					w.t.Errorf("client %d received no error for %s, whose source has not answered", i, name)
				}
			}
		}
	}
	w.acting = nil
	s.live()
	synctest.Wait()
}
