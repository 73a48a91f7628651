package client_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// The types of the model. A resource is its name, a bar, and its value.
var (
	modelComplete = modelType("model.Complete", true)
	modelPartial  = modelType("model.Partial", false)
	modelTypes    = []*resource.Descriptor{modelComplete, modelPartial}
)

func modelType(name string, complete bool) *resource.Descriptor {
	return &resource.Descriptor{
		Name: name, Complete: complete, Wildcard: true, Globs: true, Collection: name + "Collection", NewShard: newShard,
		PeekName: func(b []byte) (string, error) {
			name, _, _ := strings.Cut(string(b), "|")
			return name, nil
		},
		Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
			_, value, _ := strings.Cut(string(body), "|")
			if strings.HasPrefix(value, "bad") {
				return nil, errors.New(value)
			}
			return &update{dc.Meta(body), value}, nil
		},
	}
}

// A modelWorld is a client with its control planes, its watchers, and the model.
type modelWorld struct {
	t       *testing.T
	rng     *rand.Rand
	column  modelColumn
	temper  memoryads.Temperament
	model   *model
	client  *client.Client
	servers []*memoryads.Server
	keys    []modelKey

	watchers []*modelWatcher // those that were not cancelled
	gone     []*modelWatcher // the others
	values   int             // counts, so that every value is new
	puts     int             // the number of resources put

	// Names that were dropped since everything was at rest; and those of them that were
	// watched again. A response in flight may contain such a name. If the resource has been
	// removed meanwhile, go-control-plane never sends the removal in the delta protocol.
	dropped, retaken map[modelKey]bool
	// Members of collections that were taken again before the server sent all responses to the
	// earlier subscription. Such a response may contain a member that the server deletes between the
	// two subscriptions. A server that forgets the members with the first one never reports that.
	crossed  map[modelKey]bool
	bursting bool
	named    map[modelKey]bool // keys that were watched at any time
	left     map[modelKey]bool // of them and of members, those that were dropped at any time

	lists      []*modelList
	collectors []*modelCollector // those that were not stopped
	collected  int               // all

	failure string
	tell    func(format string, args ...any)
}

func newModelWorld(t *testing.T, column modelColumn, temper memoryads.Temperament, rng *rand.Rand) *modelWorld {
	w := &modelWorld{
		t: t, rng: rng, column: column, temper: temper,
		dropped: make(map[modelKey]bool), retaken: make(map[modelKey]bool), named: make(map[modelKey]bool), left: make(map[modelKey]bool),
		crossed: make(map[modelKey]bool),
		model: &model{
			authorities: column.layout.authorities, beliefs: make(map[modelKey]*belief), mortal: make(map[modelKey]bool),
			dropsErrors: rng.IntN(3) == 0, patient: rng.IntN(3) == 0,
			delta: column.protocol == modelDelta, lax: temper != memoryads.Letter || column.layout.collections || len(column.layout.lists) > 0,
		},
	}
	network := make(memoryads.Network)
	specs := make([]bootstrap.ServerSpec, column.layout.servers)
	for i := range specs {
		uri := fmt.Sprintf("memory:%d", i)
		specs[i] = server(uri, w.features()...)
		network[uri] = memoryads.NewServer(
			memoryads.Type{URL: modelComplete.URL(), Complete: true, Wildcard: column.layout.collections},
			memoryads.Type{URL: modelPartial.URL(), Wildcard: column.layout.collections},
			memoryads.Type{URL: modelComplete.URL() + "Collection"}, memoryads.Type{URL: modelPartial.URL() + "Collection"},
		)
		network[uri].Imitate(temper)
		w.servers = append(w.servers, network[uri])
		w.model.servers = append(w.model.servers, &modelServer{
			up: true, holds: make(map[modelKey]content), subscribed: make(map[modelKey]bool), unread: make(map[modelKey]bool),
		})
	}
	spec := bootstrap.Spec{Authorities: make(map[string]bootstrap.AuthoritySpec)}
	for name, servers := range column.layout.authorities {
		var own []bootstrap.ServerSpec
		for _, i := range servers {
			own = append(own, specs[i])
		}
		if name == "" {
			spec.Servers = own
		} else {
			spec.Authorities[name] = bootstrap.AuthoritySpec{Servers: own}
		}
	}
	w.keys, w.lists = modelKeys(column.layout), modelLists(column.layout)
	types, err := resource.NewSet(modelTypes...)
	if err != nil {
		t.Fatal(err)
	}
	steady := ads.DefaultBackoff
	steady.Jitter = 0
	w.client, err = newWith(config(t, spec), types, withTransport(network), withBackoff(steady))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// features are those of every server.
func (w *modelWorld) features() (features []any) {
	if f := w.column.protocol.feature; f != "" {
		features = append(features, f)
	}
	if w.model.dropsErrors {
		features = append(features, feature.FailOnDataErrors)
	}
	if w.model.patient {
		features = append(features, feature.ResourceTimerIsTransientError)
	}
	return features
}

// modelKeys are few, so that many events concern the same key.
func modelKeys(layout modelLayout) (keys []modelKey) {
	for _, authority := range []string{"", "east.example", "west.example"} {
		if _, ok := layout.authorities[authority]; !ok {
			continue
		}
		for _, typ := range modelTypes {
			for _, id := range []string{"a", "b", "c"}[:4-len(layout.authorities)] {
				name := id
				if authority != "" {
					name = xdstpName(authority, typ.Name, id)
				}
				keys = append(keys, modelKey{typ, authority, name})
			}
		}
	}
	return keys
}

// close ends the client while watchers may still be blocked.
func (w *modelWorld) close() {
	if err := w.client.Close(); err != nil {
		w.failf("Close: %v", err)
	}
	for _, c := range w.collectors {
		<-c.done
	}
	for _, all := range [][]*modelWatcher{w.watchers, w.gone} {
		for _, one := range all {
			w.release(one)
		}
	}
	synctest.Wait()
}

func (w *modelWorld) release(one *modelWatcher) {
	if one.slow != nil {
		select {
		case <-one.slow:
		default:
			close(one.slow)
		}
	}
}

// trace tells of the messages between the client and its control planes.
func (w *modelWorld) trace() {
	began := time.Now()
	for i, s := range w.servers {
		s.Trace(func(line string) { w.tell("%9v server %d %s", time.Since(began).Round(time.Millisecond), i, line) })
	}
}

// told logs a step for the reader of a failed run.
func (w *modelWorld) told(format string, args ...any) {
	if w.tell != nil {
		w.tell(format, args...)
	}
}

// failf notes the first thing that does not fit.
func (w *modelWorld) failf(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// pass lets time pass, and the model know of it. A stream that is new at the end gets
// its time.
func (w *modelWorld) pass(d time.Duration) {
	before := w.streams()
	pass(d)
	if w.streams() != before {
		pass(slowness)
	}
	now := time.Now()
	for i, s := range w.servers {
		stream, since := s.Opened()
		w.model.look(w.model.servers[i], s.Open() > 0, stream, since, now)
		w.model.subscribe(w.model.servers[i], now)
	}
}

// settle waits until all goroutines are idle, and compares the client with the model.
func (w *modelWorld) settle() {
	for before := -1; before != w.streams(); {
		before = w.streams()
		w.pass(31 * time.Second)
		if len(w.lists) > 0 { // the client asks for members after it has the list
			w.pass(31 * time.Second)
		}
	}
	w.check(true)
	w.settled()
}

func (w *modelWorld) streams() (n int) {
	for _, s := range w.servers {
		opened, _ := s.Opened()
		n += opened
	}
	return n
}

// ways in which a stream ends.
func (w *modelWorld) ending() error {
	return []error{nil, errors.New("connection reset"), io.ErrUnexpectedEOF}[w.rng.IntN(3)]
}
