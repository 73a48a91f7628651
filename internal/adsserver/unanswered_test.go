package adsserver

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/feature"
)

const (
	downName = "xdstp://down/envoy.config.cluster.v3.Cluster/x"
	downGlob = "xdstp://down/envoy.config.cluster.v3.Cluster/dir/*"
)

// An authority whose source does not answer holds back the resources of others for a while only. Its names get an
// error, which its answer replaces. The glob gets no answer, because nobody knows whether it has members.
func TestSourceThatDoesNotAnswer(t *testing.T) {
	for _, delta := range []bool{false, true} {
		for _, answer := range []string{"", downName + "=1"} {
			synctest.Test(t, func(t *testing.T) {
				var down scripted
				m, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
				n := newNaive(t, c, delta)
				n.change(clusterURL, []string{"a"}, nil)
				commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
				n.read()
				n.change(clusterURL, []string{downName, downGlob}, nil)
				pass(9 * time.Second)
				commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
				n.read()
				y := n.of(clusterURL)
				if got := y.has["a"]; delta != (got == "a=2") || len(y.errors) > 0 {
					t.Errorf("delta = %t: after 9 s, the client has %q and the errors %v", delta, got, y.errors)
				}
				pass(time.Second)
				n.read()
				if got := y.has["a"]; got != "a=2" || len(y.errors) != 1 || y.errors[downName] == "" || len(y.gone) > 0 {
					t.Errorf("delta = %t: after 10 s, the client has %q, the errors %v, and was told that %v are gone", delta, got, y.errors, y.gone)
				}
				commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "3")))
				n.read()
				if got := y.has["a"]; got != "a=3" {
					t.Errorf("delta = %t: the client has %q, want the change at once", delta, got)
				}
				change := source.Change{Epoch: "1", Revision: 1, Complete: []source.Interest{{Type: clusterURL, Name: downName}, {Type: clusterURL, Name: downGlob}}}
				want := map[string]string{"a": "a=3"}
				if answer != "" {
					change.Put = []source.Resource{put(clusterURL, downName, "1")}
					change.Put[0].Version = "1"
					want[downName] = answer
				}
				if err := down.sink.Apply(change); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				n.read()
				if !maps.Equal(y.has, want) || len(y.errors) > 0 || delta && (y.gone[downName] != (answer == "") || !y.gone[downGlob]) {
					t.Errorf("delta = %t: after the answer %q, the client has %q, the errors %v, and was told that %v are gone", delta, answer, y.has, y.errors, y.gone)
				}
				if n := c.unanswered.len(); n > 0 {
					t.Errorf("%d questions are left", n)
				}
			})
		}
	}
}

// A client that comes back with resources of an earlier stream is not told that one is gone because its source does
// not answer.
func TestReturningClientWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down scripted
		m, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		n := newNaive(t, c, false)
		n.of(clusterURL).whole = "version"
		n.change(clusterURL, []string{"a", downName, downGlob}, nil)
		pass(time.Hour)
		if got := n.read(); len(got) > 0 {
			t.Errorf("the client received %q", got)
		}
		change := source.Change{Epoch: "1", Revision: 1, Complete: []source.Interest{{Type: clusterURL, Name: downName}, {Type: clusterURL, Name: downGlob}}}
		if err := down.sink.Apply(change); err != nil {
			t.Fatal(err)
		}
		n.read()
		if got := n.of(clusterURL).has; !maps.Equal(got, map[string]string{"a": "a=1"}) {
			t.Errorf("the client has %q", got)
		}
	})
}

// A client that comes back and keeps resources which have errors gets the others after the time limit. A collection
// without an answer still holds them back, because no error can stand for its members.
func TestReturningClientThatKnowsErrors(t *testing.T) {
	for _, names := range [][]string{{"a", downName}, {"a", downName, downGlob}} {
		synctest.Test(t, func(t *testing.T) {
			var down scripted
			m, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
			commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
			n := newNaive(t, c, false)
			y := n.of(clusterURL)
			y.whole = "version"
			for _, name := range names {
				y.names[name] = true
			}
			n.send(&discoveryv3.DiscoveryRequest{
				TypeUrl: clusterURL, ResourceNames: names, VersionInfo: y.whole,
				Node: &corev3.Node{Id: "naive", ClientFeatures: []string{"other", feature.ResourceErrors}},
			})
			pass(9 * time.Second)
			if got := n.read(); len(got) > 0 {
				t.Errorf("before the time limit, the client received %q", got)
			}
			pass(time.Second)
			n.read()
			if got := y.errors[downName] != "" && y.has["a"] == "a=1"; got != (len(names) == 2) {
				t.Errorf("%d names: after the time limit, the client has %v and the errors %v", len(names), y.has, y.errors)
			}
		})
	}
}

// Questions end with their subscriptions, and with the core.
func TestQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down scripted
		_, c := newCore(t, Config{AnswerTimeout: 10 * time.Second, Authorities: map[string]source.Source{"down": &down}})
		for _, delta := range []bool{false, true} {
			for range 3 {
				n := newNaive(t, c, delta)
				n.change(clusterURL, []string{"a", downName, downGlob}, nil)
				if delta {
					n.change(clusterURL, nil, []string{downName, downGlob})
				}
				n.stream.Close(nil)
			}
		}
		synctest.Wait()
		if n := c.unanswered.len(); n > 0 {
			t.Errorf("%d questions are left", n)
		}
		newNaive(t, c, true).change(clusterURL, []string{downName}, nil)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
	})
}

// A client of the wildcard is not told that nothing exists because the source does not answer.
func TestWildcardWaitsForItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s scripted
		c, err := New(Config{AnswerTimeout: 10 * time.Second, Source: &s})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n := newNaive(t, c, false)
		n.change(clusterURL, []string{source.Wildcard, "a"}, nil)
		pass(time.Hour)
		if got := n.read(); len(got) > 0 {
			t.Errorf("the client received %q", got)
		}
	})
}

// len returns the number of questions in the queue.
func (u *unanswered) len() (n int) {
	for q := u.first; q != nil; q = q.next {
		n++
	}
	return n
}
