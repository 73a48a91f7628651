package adsserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

const testPause = 100 * time.Millisecond

// eachMove runs a test in both variants: one commit has moved a route from one cluster to another and deleted the
// first. The client has received the route.
func eachMove(t *testing.T, f func(t *testing.T, n *naive, m *source.Memory)) {
	t.Helper()
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, c := newCore(t, Config{RemovalPause: testPause})
				n := newNaive(t, c, delta)
				n.change(clusterURL, []string{"old"}, nil)
				n.change(endpointURL, []string{"old"}, nil)
				n.change(routeURL, []string{"route"}, nil)
				commit(t, m, new(source.Tx).Put(put(clusterURL, "old", "1")).Put(put(clusterURL, "other", "1")).Put(put(routeURL, "route", "old")).
					Put(put(endpointURL, "old", "1")).Put(put(endpointURL, "other", "1")))
				n.read()
				pass(time.Minute)
				commit(t, m, new(source.Tx).Put(put(clusterURL, "other", "2")).Delete(key(clusterURL, "old")).Delete(key(endpointURL, "old")).
					Put(put(routeURL, "route", "other")))
				n.read()
				if y := n.of(clusterURL); n.of(routeURL).has["route"] != "route=other" || y.has["old"] != "old=1" {
					t.Fatalf("after the move, the client has %v and %v", n.of(routeURL).has, y.has)
				}
				f(t, n, m)
			})
		})
	}
}

// askFor subscribes to names, and reads the answers.
func (n *naive) askFor(url string, names ...string) {
	n.t.Helper()
	n.change(url, names, nil)
	synctest.Wait()
	n.read()
}

// wantOld checks whether the client still has the first cluster.
func (n *naive) wantOld(when string, want bool) {
	n.t.Helper()
	n.read()
	if _, got := n.of(clusterURL).has["old"]; got != want {
		n.t.Errorf("%s: the client has the old cluster: %t, want %t; the last events:\n%s", when, got, want, strings.Join(n.log[max(0, len(n.log)-5):], "\n"))
	}
}

// A client has a removed cluster until it had the time to ask for the new one.
func TestRemovalsWaitForNewSubscriptions(t *testing.T) {
	eachMove(t, func(_ *testing.T, n *naive, _ *source.Memory) {
		for _, url := range []string{clusterURL, routeURL} {
			pass(testPause - time.Millisecond)
			n.wantOld("before the pause is over", true)
			n.askFor(url, "other")
		}
		n.askFor(endpointURL, "other")
		pass(testPause - time.Millisecond)
		n.wantOld("before the pause after the last request is over", true)
		pass(time.Millisecond)
		n.wantOld("after the pause", false)
		if got := n.of(endpointURL).has["old"]; n.delta != (got == "") {
			t.Errorf("the client has the endpoints %q of the removed cluster", got)
		}
	})
}

// A client that unsubscribes while a removal waits does not hear of it.
func TestUnsubscribedRemovalsAreNotSent(t *testing.T) {
	eachMove(t, func(t *testing.T, n *naive, _ *source.Memory) {
		n.change(clusterURL, []string{"other"}, []string{"old"})
		n.change(endpointURL, []string{"other"}, []string{"old"})
		synctest.Wait()
		n.read()
		pass(time.Hour)
		if got := n.read(); len(got) > 0 {
			t.Errorf("the client receives %q", got)
		}
		if st := n.stream; st.departure.first != 0 {
			t.Error("the stream waits for removals that nobody needs")
		}
	})
}

// A client that does not answer, and one whose names have no answer, hear of removals after the limit.
func TestRemovalsWaitForAnswers(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var down scripted
			m, c := newCore(t, Config{RemovalPause: testPause, Authorities: map[string]source.Source{"down": &down}})
			n := newNaive(t, c, true)
			n.change(clusterURL, []string{"old"}, nil)
			commit(t, m, new(source.Tx).Put(put(clusterURL, "old", "1")))
			n.read()
			if silent {
				n.change(routeURL, []string{"route"}, nil)
			} else {
				n.change(clusterURL, []string{downName}, nil)
			}
			commit(t, m, new(source.Tx).Delete(key(clusterURL, "old")).Put(put(routeURL, "route", "other")))
			n.readDelta(t) // no answer
			pass(removalLimit - time.Millisecond)
			if got := n.readDelta(t); len(got) > 0 {
				t.Errorf("silent = %t: before the limit, the client receives %v", silent, got)
			}
			pass(time.Millisecond)
			got := n.readDelta(t)
			if len(got) != 1 || !slices.Equal(got[0].GetRemovedResources(), []string{"old"}) {
				t.Errorf("silent = %t: after the limit, the client receives %v, want the removal", silent, got)
			}
		})
	}
}

// Removals wait neither for changes of endpoints, nor for those of other types without an end.
func TestRemovalsDoNotWaitForEver(t *testing.T) {
	for url, limit := range map[string]time.Duration{endpointURL: testPause, routeURL: removalLimit} {
		eachMove(t, func(t *testing.T, n *naive, m *source.Memory) {
			n.change(url, []string{"route", "busy"}, nil)
			begin, i := time.Now(), 0
			for n.of(clusterURL).has["old"] != "" {
				i++
				commit(t, m, new(source.Tx).Put(put(url, "busy", fmt.Sprint(i))))
				n.read()
				pass(testPause / 10)
				n.read()
			}
			if got := time.Since(begin); got < limit-testPause/5 || got > limit+testPause/5 {
				t.Errorf("under changes of %s, the removal comes after %v, want %v", url, got, limit)
			}
		})
	}
}

// Names that do not exist are answered while removals wait, and nothing is removed by the answer.
func TestAbsentNamesDoNotWait(t *testing.T) {
	eachMove(t, func(t *testing.T, n *naive, _ *source.Memory) {
		sent := n.stream.nonce
		n.askFor(clusterURL, "missing")
		n.wantOld("with the answer", true)
		if got := n.of(clusterURL); n.stream.nonce != sent+1 || n.delta && !maps.Equal(got.gone, map[string]bool{"missing": true}) {
			t.Errorf("after %d responses, the client was told that %v are gone; want one with the missing name", n.stream.nonce-sent, got.gone)
		}
		n.askFor(clusterURL, source.Wildcard)
		n.wantOld("with the wildcard", true)
		pass(testPause)
		n.wantOld("after the pause", false)
	})
}

// A removal that comes while others are sent to a slow reader waits for itself.
func TestRemovalsOfAnotherChangeWait(t *testing.T) {
	eachMove(t, func(t *testing.T, n *naive, m *source.Memory) {
		n.askFor(clusterURL, "other")
		n.change(listenerURL, []string{"listener"}, nil)
		commit(t, m, new(source.Tx).Put(put(listenerURL, "listener", "1")))
		n.read()
		commit(t, m, new(source.Tx).Delete(key(listenerURL, "listener")))
		pass(testPause)
		n.next("") // the listener, or the endpoint
		commit(t, m, new(source.Tx).Delete(key(clusterURL, "other")))
		n.read()
		if got := n.of(clusterURL).has["other"]; got == "" {
			t.Error("the client loses the other cluster at once")
		}
		pass(testPause)
		n.read()
		if got := n.of(clusterURL).has; len(got) > 0 {
			t.Errorf("after the pause, the client has %v", got)
		}
	})
}

// Removals that wait cost at most the number of subscriptions.
func TestWaitingRemovalsAreBounded(t *testing.T) {
	eachMove(t, func(t *testing.T, n *naive, m *source.Memory) {
		n.askFor(clusterURL, "other")
		for i := range 1000 {
			commit(t, m, new(source.Tx).Put(put(clusterURL, "other", fmt.Sprint(i))))
			n.read()
			commit(t, m, new(source.Tx).Delete(key(clusterURL, "other")))
			n.read()
		}
		for _, s := range n.stream.kinds {
			if len(s.held) > 20 || len(s.dirty) > 20 {
				t.Errorf("%d removals are held, and %d entries are noted", len(s.held), len(s.dirty))
			}
		}
		pass(testPause)
		n.read()
		if got := n.of(clusterURL).has; len(got) > 0 {
			t.Errorf("after the pause, the client has %v", got)
		}
	})
}
