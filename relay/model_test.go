package relay_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsmodel"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/relay"
)

var (
	modelSequences = flag.Int("model.sequences", 150, "number of random sequences of TestModel in each variant of the protocol")
	modelFirst     = flag.Uint64("model.first", 1, "seed of the first sequence")
)

// TestModel runs random sequences of two control planes, a relay and its clients: resources that come, change, go and are
// invalid, control planes that restart and refuse, and clients that want more than the relay may. At rest, each client has
// the resources of upstream for its names, or an error that is its own. At no time is a client told that something is gone which
// upstream has.
func TestModel(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			for i := range *modelSequences {
				synctest.Test(t, func(t *testing.T) { runModel(t, *modelFirst+uint64(i), delta) })
				if t.Failed() {
					t.Fatalf("seed %d", *modelFirst+uint64(i))
				}
			}
		})
	}
}

const (
	eGlob       = "xdstp://e/test.Thing/dir/"
	oGlob       = "xdstp://o/test.Thing/dir/"
	modelLinger = 5 * time.Second
)

func modelNames() []string { return []string{"a", "b", "c", eGlob + "1", eGlob + "2", oGlob + "1"} }

func modelCollections() []string { return []string{source.Wildcard, eGlob + "*", oGlob + "*"} }

// A modelWorld is the control planes "up" and "other", which has the authority o, a relay, and its clients.
type modelWorld struct {
	t       *testing.T
	rnd     *rand.Rand
	limit   int
	planes  map[bool]*memoryads.Server // true: other
	down    map[bool]bool
	relay   *relay.Relay
	core    *adsserver.Core
	truth   *adsmodel.Truth
	valid   map[string]bool // all valid bodies so far
	active  map[string]bool // names that the relay subscribes to upstream in any case
	clients []*adsmodel.Client
	value   int
	pending map[bool][]func() // changes while a control plane is down, which the relay cannot know
}

func runModel(t *testing.T, seed uint64, delta bool) {
	rnd := rand.New(rand.NewPCG(seed, 4))
	w := &modelWorld{
		t: t, rnd: rnd, limit: 100, down: make(map[bool]bool), valid: make(map[string]bool), active: make(map[string]bool), pending: make(map[bool][]func()),
		truth: adsmodel.NewTruth(modelUniverse()),
	}
	if rnd.IntN(2) == 0 {
		w.limit = 2 + rnd.IntN(3)
	}
	closed := w.begin([]string{"xds_v3", feature.TransportDelta}[rnd.IntN(2)])
	for i := range 1 + rnd.IntN(3) {
		c := &adsmodel.Client{
			T: t, Name: fmt.Sprintf("client %d", i), Delta: delta, Habit: adsmodel.Habit(rnd.IntN(4)), Told: w.told,
			Complete: func(string) bool { return true }, Open: func() (adsmodel.Stream, error) { return w.core.Open(delta) },
		}
		w.clients = append(w.clients, c)
		c.Connect()
	}
	for range 20 {
		w.step()
		if rnd.IntN(5) == 0 && !t.Failed() {
			w.settle()
		}
		if t.Failed() {
			break
		}
	}
	if !t.Failed() {
		w.up(false)
		w.up(true)
		w.settle()
	}
	if t.Failed() {
		t.Logf("seed %d, at most %d subscriptions", seed, w.limit)
		for _, c := range w.clients {
			t.Logf("%s, %v:\n%s", c.Name, c.Habit, strings.Join(c.Log(), "\n"))
		}
	}
	closed()
}

// begin starts the control planes and the relay, whose client uses a variant of the protocol.
func (w *modelWorld) begin(variant string) (closed func()) {
	w.t.Helper()
	d := newThing()
	d.PeekName = func(b []byte) (string, error) {
		name, _, _ := strings.Cut(string(b), "=")
		return name, nil
	}
	decode := d.Decode
	d.Decode = func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
		if strings.HasSuffix(string(body), "bad") {
			return nil, errors.New("a bad thing")
		}
		return decode(dc, body)
	}
	types, err := resource.NewSet(d)
	if err != nil {
		w.t.Fatal(err)
	}
	w.planes = make(map[bool]*memoryads.Server)
	for _, other := range []bool{false, true} {
		w.planes[other] = memoryads.NewServer(memoryads.Type{URL: thingURL, Complete: true, Wildcard: true}, memoryads.Type{URL: listURL})
	}
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": "memory:up", "channel_creds": [{"type": "insecure"}], "server_features": [%q]}],
		"authorities": {"e": {}, "o": {"xds_servers": [{"server_uri": "memory:other", "channel_creds": [{"type": "insecure"}], "server_features": [%q]}]}},
		"node": {"id": "me"}}`, variant, variant))
	if err != nil {
		w.t.Fatal(err)
	}
	client, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypeSet(types),
		xdsforge.WithTransport(memoryads.Network{"memory:up": w.planes[false], "memory:other": w.planes[true]}))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.relay, err = relay.New(client, relay.WithMaxSubscriptions(w.limit), relay.WithLinger(modelLinger)); err != nil {
		w.t.Fatal(err)
	}
	w.core, err = adsserver.New(adsserver.Config{Source: w.relay, Type: adsserver.TypesOf(types), AnswerTimeout: 20 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := errors.Join(w.core.Close(), w.relay.Close(), client.Close()); err != nil {
			w.t.Error(err)
		}
		for _, p := range w.planes {
			learned := func(v string) bool { return strings.Contains(v, "only learned from") } // the clients of the relay ask for it
			if v := slices.DeleteFunc(p.Violations(), learned); len(v) > 0 {
				w.t.Errorf("the relay broke the protocol: %q", v)
			}
		}
	}
}

func modelUniverse() (list []source.Key) {
	for _, n := range append(modelNames(), modelCollections()...) {
		list = append(list, source.Key{Type: thingURL, Name: n})
	}
	return list
}

func (w *modelWorld) note(format string, args ...any) {
	for _, c := range w.clients {
		c.Note("\t"+format, args...)
	}
}

// other reports whether a name belongs to the control plane "other".
func other(name string) bool { return adsmodel.Authority(name) == "o" }

// told judges that a client is told that something is gone.
func (w *modelWorld) told(c *adsmodel.Client, url, name string) {
	w.t.Helper()
	k := source.Key{Type: url, Name: name}
	byName := c.Of(url).Names[name] && !adsmodel.IsCollection(name)
	if !w.truth.WasAbsent(k) && (byName || !w.truth.WasInvalid(k)) { // clients of a collection hear of no errors
		w.t.Errorf("%s is told that %s is gone, and upstream has it", c.Name, name)
	}
}

func (w *modelWorld) step() {
	c := w.clients[w.rnd.IntN(len(w.clients))]
	y := c.Of(thingURL)
	switch w.rnd.IntN(14) {
	case 0, 1, 2:
		w.change()
	case 3:
		w.fault(w.rnd.IntN(2) == 0)
	case 4:
		w.note("time passes")
		pass(time.Duration(1+w.rnd.IntN(20)) * time.Second)
	case 5, 6, 7:
		c.Subscribe(thingURL, w.choose()...)
	case 8, 9:
		if len(y.Names) > 0 {
			names := slices.Sorted(maps.Keys(y.Names))
			c.Unsubscribe(thingURL, names[w.rnd.IntN(len(names))])
		}
	case 10:
		c.Disconnect(errors.New("reconnects"))
		w.forget()
		c.Connect()
	default:
		c.Read("")
	}
	w.forget()
	if w.rnd.IntN(2) == 0 {
		synctest.Wait()
	}
}

func (w *modelWorld) choose() (list []string) {
	all := append(modelNames(), modelCollections()...)
	for range 1 + w.rnd.IntN(3) {
		if n := all[w.rnd.IntN(len(all))]; !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// change changes resources of one control plane.
func (w *modelWorld) change() {
	name := modelNames()[w.rnd.IntN(len(modelNames()))]
	if o := other(name); w.down[o] {
		w.pending[o] = append(w.pending[o], func() { w.changeOf(name) })
		return
	}
	w.changeOf(name)
}

func (w *modelWorld) changeOf(name string) {
	k := source.Key{Type: thingURL, Name: name}
	plane := w.planes[other(name)]
	w.value++
	body := fmt.Appendf(nil, "%s=%d", name, w.value)
	defer func() { w.note("change %s, %d: %v", name, w.value, w.truth.Resources[k]) }()
	switch w.rnd.IntN(6) {
	case 0:
		plane.Delete(thingURL, name)
		delete(w.truth.Resources, k)
	case 1:
		plane.Set(thingURL, memoryads.Resource{Name: name, Body: append(body, "bad"...)})
		w.truth.Resources[k] = source.Resource{Key: k, Err: &rpcstatus.Status{Message: "bad"}}
	case 2:
		plane.Set(thingURL, memoryads.Resource{Name: name, Error: &rpcstatus.Status{Code: 7, Message: "not yours"}})
		w.truth.Resources[k] = source.Resource{Key: k, Err: &rpcstatus.Status{Message: "not yours"}}
	default:
		plane.Set(thingURL, memoryads.Resource{Name: name, Body: body})
		w.truth.Resources[k] = source.Resource{Key: k, Body: body}
		w.valid[string(body)] = true
	}
	w.truth.Note()
}

// fault restarts a control plane, or has it refuse streams.
func (w *modelWorld) fault(other bool) {
	synctest.Wait() // the relay knows everything before that
	switch {
	case w.down[other]:
		w.up(other)
	case w.rnd.IntN(2) == 0:
		w.note("restart, other = %t", other)
		w.planes[other].Disconnect(errors.New("a restart"))
	default:
		w.note("down, other = %t", other)
		w.down[other] = true
		w.planes[other].Refuse(errors.New("maintenance"))
		w.planes[other].Disconnect(errors.New("maintenance"))
	}
}

func (w *modelWorld) up(other bool) {
	if w.down[other] {
		w.note("up, other = %t", other)
		w.down[other] = false
		for _, change := range w.pending[other] {
			change()
		}
		w.pending[other] = nil
		w.planes[other].Refuse(nil)
	}
}

// wanted returns the names that clients subscribe to.
func (w *modelWorld) wanted() map[string]bool {
	all := make(map[string]bool)
	for _, c := range w.clients {
		if c.Connected() {
			maps.Copy(all, c.Of(thingURL).Names)
		}
	}
	return all
}

// forget notes which names nobody wants any longer, so that others may take their places.
func (w *modelWorld) forget() {
	wanted := w.wanted()
	maps.DeleteFunc(w.active, func(name string, _ bool) bool { return !wanted[name] })
}
