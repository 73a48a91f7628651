package adsserver

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
)

var (
	modelSequences = flag.Int("model.sequences", 2000, "number of random sequences of TestModel in each variant of the protocol")
	modelFirst     = flag.Uint64("model.first", 1, "seed of the first sequence")
)

// TestModel runs random puts, deletes, subscriptions and reconnections. At rest, the state of every
// client equals that of the store.
func TestModel(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			for i := range *modelSequences {
				runModel(t, *modelFirst+uint64(i), delta)
				if t.Failed() {
					t.Fatalf("seed %d", *modelFirst+uint64(i))
				}
			}
		})
	}
}

// TestResourceRemovedBeforeItsResponse has a client reconnect with an older version of a resource that does
// not fit into the first response and is then removed. The client must learn of the removal.
func TestResourceRemovedBeforeItsResponse(t *testing.T) { runModel(t, 717352, true) }

const (
	glob      = "xdstp://a/envoy.config.cluster.v3.Cluster/dir/"
	otherGlob = "xdstp://b/envoy.config.cluster.v3.Cluster/dir/"
	pairURL   = "type.googleapis.com/test.Pair"
)

// A world is a store, a core and its clients.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	store   *source.Memory
	core    *Core
	clients []*naive
	acting  *naive // the client of the current step
	value   int
	expect  map[source.Key]source.Resource
	log     []string
	slow    *slowAuthority // nil: there is none
}

func names() []string {
	return []string{
		"a", "b", "c", glob + "1", glob + "2", otherGlob + "1", glob + "deep/1", "x", "y",
	}
}

func collections() []string { return []string{source.Wildcard, glob + "*", otherGlob + "*"} }

func runModel(t *testing.T, seed uint64, delta bool) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, rnd: rand.New(rand.NewPCG(seed, 1)), store: source.NewMemory(), expect: make(map[source.Key]source.Resource),
		}
		config := Config{Source: w.store}
		if w.rnd.IntN(4) == 0 {
			config.Limits.ResponseBytes = 50 // divides every response
		}
		w.slow = newSlow(seed, &config)
		var err error
		if w.core, err = New(config); err != nil {
			t.Fatal(err)
		}
		defer w.core.Close()
		if w.rnd.IntN(2) == 0 {
			w.interrupt()
		}
		for range 1 + w.rnd.IntN(3) {
			w.clients = append(w.clients, newNaive(t, w.core, delta))
		}
		for range 25 {
			w.step()
			if w.rnd.IntN(4) == 0 {
				w.settle()
			}
		}
		w.settle()
		if t.Failed() {
			t.Logf("seed %d, store:\n%s", seed, strings.Join(w.log, "\n"))
			for i, c := range w.clients {
				t.Logf("client %d:\n%s", i, strings.Join(c.log, "\n"))
			}
		}
	})
}

// interrupt divides requests and ends of streams into parts, between which the store changes and other clients
// act.
func (w *world) interrupt() {
	w.core.part = 1 + w.rnd.IntN(2)
	within := false
	w.core.between = func() {
		if w.slow != nil && w.slow.sleep.Load() || within || w.rnd.IntN(2) == 0 {
			return
		}
		within = true
		defer func() { within = false }()
		switch w.rnd.IntN(3) {
		case 0:
			w.commit()
		case 1:
			w.step()
		case 2:
			c := w.clients[w.rnd.IntN(len(w.clients))]
			if busy := c.stream.busy; c != w.acting || busy {
				if c.next("") && busy {
					w.t.Error("a client receives a response before its request is handled")
				}
			}
		}
		synctest.Wait()
	}
}

func (w *world) url() string {
	return []string{clusterURL, clusterURL, endpointURL, pairURL}[w.rnd.IntN(4)]
}

func (w *world) step() {
	w.slow.wait()
	c := w.clients[w.rnd.IntN(len(w.clients))]
	if c == w.acting { // this is between two parts of its own step
		w.commit()
		return
	}
	before := w.acting
	w.acting = c
	defer func() { w.acting = before }()
	switch w.rnd.IntN(10) {
	case 0, 1, 2:
		w.commit()
	case 3, 4, 5:
		url := w.url()
		c.change(url, w.choose(c.of(url)), nil)
	case 6:
		url := w.url()
		if y := c.of(url); len(y.names) > 0 && y.asked && (c.delta || len(y.names) > 1) {
			all := slices.Sorted(maps.Keys(y.names))
			c.change(url, nil, all[w.rnd.IntN(len(all)):][:1])
		}
	case 7:
		c.connect()
	default:
		problem := ""
		if w.rnd.IntN(4) == 0 {
			problem = "no"
		}
		c.next(problem)
		w.pairs(c)
	}
	if w.rnd.IntN(2) == 0 {
		synctest.Wait()
	}
}

// choose returns names to subscribe to. An explicit name is not chosen for a type of another message.
func (w *world) choose(y *naiveType) (list []string) {
	all := names()
	if y.url == pairURL {
		return []string{"one", "two"}
	}
	if y.url == clusterURL {
		all = append(all, collections()...)
	} else {
		all = slices.DeleteFunc(all, func(n string) bool { return strings.HasPrefix(n, "xdstp:") })
	}
	for range 1 + w.rnd.IntN(3) {
		if n := all[w.rnd.IntN(len(all))]; !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// commit commits a transaction. The two resources of pairURL always change together.
func (w *world) commit() {
	tx := new(source.Tx)
	if w.rnd.IntN(3) == 0 {
		w.value++
		for _, n := range []string{"one", "two"} {
			w.put(tx, source.Resource{Key: key(pairURL, n), Body: fmt.Appendf(nil, "%s=%d", n, w.value)})
		}
	}
	for range w.rnd.IntN(4) {
		n, url := names()[w.rnd.IntN(len(names())-2)], clusterURL
		if !strings.HasPrefix(n, "xdstp:") && w.rnd.IntN(3) == 0 {
			url = endpointURL
		}
		k := key(url, n)
		w.value++
		switch w.rnd.IntN(5) {
		case 0:
			tx.Delete(k)
			delete(w.expect, k)
			w.mayResend(k)
			w.log = append(w.log, "delete "+n)
		case 1:
			w.put(tx, source.Resource{Key: k, Err: &rpcstatus.Status{Code: 5, Message: fmt.Sprint(w.value)}})
		default:
			r := source.Resource{Key: k, Body: fmt.Appendf(nil, "%s=%d", n, w.value%3)}
			switch { // "x" is an alias of a or of nothing, "y" of b
			case url == clusterURL && n == "a" && w.rnd.IntN(2) == 0:
				r.Aliases = []string{"x"}
			case url == clusterURL && n == "b":
				r.Aliases = []string{"y"}
			}
			w.put(tx, r)
		}
	}
	if _, err := w.store.Commit(w.t.Context(), w.slow.take(w.t, tx)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(tx *source.Tx, r source.Resource) {
	tx.Put(r)
	w.expect[r.Key] = r
	w.mayResend(r.Key)
	w.log = append(w.log, fmt.Sprintf("put %s %s %v", r.Key, r.Body, r.Err))
}

// mayResend notes that clients may get a resource again: it can be deleted and put back while a client
// does not read.
func (w *world) mayResend(k source.Key) {
	for _, c := range w.clients {
		c.of(k.Type).again[k.Name] = true
	}
}

// pairs checks that a client never has half of a transaction. After a reconnection, it has both halves
// once it has received both.
func (w *world) pairs(c *naive) {
	y := c.of(pairURL)
	one, two := strings.TrimPrefix(y.has["one"], "one="), strings.TrimPrefix(y.has["two"], "two=")
	if y.seen["one"] && y.seen["two"] && y.names["one"] && y.names["two"] && one != "" && two != "" && one != two && w.core.config.Limits.ResponseBytes > 50 {
		w.t.Errorf("a client has %q and %q of one transaction", one, two)
	}
}

// settle has the clients read everything, and compares their states with the store.
func (w *world) settle() {
	synctest.Wait()
	w.slow.begin(w)
	defer func() { w.acting = nil }()
	for i, c := range w.clients {
		w.acting = c
		for n := 0; c.next(""); n++ {
			w.pairs(c)
			if n > 1000 {
				w.t.Fatalf("client %d gets responses without end", i)
			}
		}
		for url, y := range c.types {
			if len(y.names) > 0 {
				w.compare(i, c, url, y)
			}
		}
	}
}

func (w *world) compare(i int, c *naive, url string, y *naiveType) {
	has, errs := make(map[string]string), make(map[string]string)
	for k, r := range w.expect {
		aliased := c.delta && slices.ContainsFunc(r.Aliases, func(a string) bool { return y.names[a] })
		switch {
		case k.Type != url || !aliased && !y.names[k.Name] && !y.names[collectionName(k.Name)]:
		case r.Err != nil:
			errs[k.Name] = r.Err.GetMessage()
		default:
			has[k.Name] = string(r.Body)
		}
	}
	kind, _ := AnyType(url)
	certain := c.delta || kind.Complete
	for name, body := range y.has {
		if _, ok := has[name]; !ok && !certain {
			has[name] = body // the protocol cannot say that it is gone
		}
	}
	for name, text := range y.errors {
		if _, ok := errs[name]; !ok && !certain {
			errs[name] = text
		}
	}
	if !certain {
		for name := range errs {
			delete(has, name)
		}
	}
	if !maps.Equal(y.has, has) || !maps.Equal(y.errors, errs) {
		w.t.Errorf("client %d, subscribed to %q of %s, has %v and errors %v; want %v and %v",
			i, slices.Sorted(maps.Keys(y.names)), url, y.has, y.errors, has, errs)
	}
	if !c.delta {
		return
	}
	for name := range y.names {
		told := y.gone[name] || y.emptied[name] // the removal of all members empties a glob, too
		if !w.exists(url, name) && name != source.Wildcard && !told {
			w.t.Errorf("client %d was not told that %s does not exist", i, name)
		}
	}
}

// exists reports whether a name has a resource, an error or a member.
func (w *world) exists(url, name string) bool {
	for k, r := range w.expect {
		if k.Type == url && (k.Name == name || collectionName(k.Name) == name || slices.Contains(r.Aliases, name)) {
			return true
		}
	}
	return false
}
