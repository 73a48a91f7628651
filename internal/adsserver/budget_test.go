package adsserver

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A budget bounds the names of all streams of a client, and the memory of them. It counts those of open streams.
func TestBudget(t *testing.T) {
	_, c := newCore(t, Config{})
	const memory = 2*typeCost + 3*NameCost + 10
	b := &Budget{Names: 3, Bytes: memory}
	open := func() *Stream {
		st, err := c.OpenStream(StreamOptions{Delta: true, Budget: b})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	change := func(st *Stream, subscribe, unsubscribe []string) error {
		t.Helper()
		raw, err := proto.Marshal(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: subscribe, ResourceNamesUnsubscribe: unsubscribe})
		if err != nil {
			t.Fatal(err)
		}
		return st.Request(raw)
	}
	within := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	first, second := open(), open()
	within(change(first, []string{"aaaa", "bbbb"}, nil))
	within(change(second, []string{"cc"}, nil)) // both limits are reached
	within(change(first, nil, []string{"aaaa"}))
	within(change(second, []string{"dddd"}, nil))
	var limit *LimitError
	if err := change(first, []string{"e"}, nil); !errors.As(err, &limit) || limit.Limit != "names" || limit.Value != 4 || limit.Max != 3 {
		t.Errorf("the fourth name: %v, want the limit of names", err)
	}
	if text := limit.Error(); !strings.Contains(text, "(Limits.ClientNames)") {
		t.Errorf("the error %q lacks the option", text)
	}
	within(change(second, nil, []string{"dddd"})) // the end of the first stream has released its names
	long := strings.Repeat("f", memory+1-typeCost-2*NameCost-len("cc"))
	if err := change(second, []string{long}, nil); !errors.As(err, &limit) || limit.Value != memory+1 || limit.Max != memory {
		t.Errorf("a byte too many: %v, want the limit of bytes", err)
	}
	within(change(open(), []string{"gggggggggg"}, nil))
}

// The budget counts a request that replaces names by more names of the same size, or by a longer one.
func TestBudgetOfReplacedNames(t *testing.T) {
	for limit, names := range map[string][]string{"names": {"b", "c", "d"}, "memory of names, initial versions, nodes, waiting requests and unread responses": {"eeeee"}} {
		_, c := newCore(t, Config{})
		st, err := c.OpenStream(StreamOptions{Delta: true, Budget: &Budget{Names: 2, Bytes: typeCost + NameCost + 4}})
		if err != nil {
			t.Fatal(err)
		}
		request := func(subscribe, unsubscribe []string) error {
			raw, err := proto.Marshal(&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: clusterURL, ResourceNamesSubscribe: subscribe, ResourceNamesUnsubscribe: unsubscribe,
			})
			if err != nil {
				t.Fatal(err)
			}
			return st.Request(raw)
		}
		if err := request([]string{"aaa"}, nil); err != nil {
			t.Fatal(err)
		}
		var over *LimitError
		if err := request(names, []string{"aaa"}); !errors.As(err, &over) || over.Limit != limit {
			t.Errorf("%q instead of a name of 3 bytes: %v; want the limit of %s", names, err, limit)
		}
	}
}

// A stream of a service of one type accepts requests without a type URL, and none for another type.
func TestStreamOfOneType(t *testing.T) {
	for url, want := range map[string]bool{"": true, clusterURL: true, listenerURL: false} {
		_, c := newCore(t, Config{})
		st, err := c.OpenStream(StreamOptions{URL: clusterURL})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := proto.Marshal(&discoveryv3.DiscoveryRequest{TypeUrl: url, ResourceNames: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		err = st.Request(raw)
		if got := len(c.SubscribedTo(clusterURL)) == 1; got != want || (err == nil) != want {
			t.Errorf("a request for %q returns %v and subscribes: %t, want %t", url, err, got, want)
		}
	}
}

// The client whose stream was the first to subscribe to a name pays for it, and another one pays after its end.
func TestOneClientPaysForAName(t *testing.T) {
	const names = 300 // more than a part
	for _, delta := range []bool{true, false} {
		for name, end := range map[string]func(t *testing.T, st *Stream){
			"unsubscribe": func(t *testing.T, st *Stream) {
				m := proto.Message(deltaOf(nil, numbered("%d", names)))
				if !delta {
					m = wholeOf([]string{"other"})
				}
				if err := st.Request(encoded(t, m)); err != nil {
					t.Fatal(err)
				}
			},
			"end": func(_ *testing.T, st *Stream) { st.Close(ErrClosed) },
		} {
			_, c := newCore(t, Config{})
			var budgets [3]Budget
			var streams [3]*Stream
			length := 0
			for _, n := range numbered("%d", names) {
				length += len(n)
			}
			for i := range streams {
				b := &budgets[i]
				b.Names, b.Bytes = 1000, 1<<20
				st, err := c.OpenStream(StreamOptions{Delta: delta, Budget: b})
				if err != nil {
					t.Fatal(err)
				}
				m := proto.Message(deltaOf(numbered("%d", names), nil))
				if !delta {
					m = wholeOf(numbered("%d", names))
				}
				if err := st.Request(encoded(t, m)); err != nil {
					t.Fatal(err)
				}
				streams[i] = st
			}
			const shared, own = typeCost + names*subCost, names * entryCost
			for i, want := range []int{shared + own, shared, shared} {
				if got := budgets[i].bytes - length; got != want {
					t.Errorf("delta=%t: client %d has %d bytes, want %d", delta, i, got, want)
				}
			}
			end(t, streams[0])
			if got := budgets[1].bytes + budgets[2].bytes - 2*length; got != 2*shared+own {
				t.Errorf("delta=%t, %s: the other clients have %d bytes, want %d", delta, name, got, 2*shared+own)
			}
			streams[2].Close(ErrClosed)
			if got := budgets[1].bytes - length; got != shared+own {
				t.Errorf("delta=%t, %s: the last client has %d bytes, want %d", delta, name, got, shared+own)
			}
			if b := &budgets[2]; b.bytes != 0 || b.names != 0 {
				t.Errorf("delta=%t, %s: a client without a stream has %d bytes and %d names", delta, name, b.bytes, b.names)
			}
		}
	}
}

// The members of a collection count, also those that the source reports after the request. The stream that is over the
// limit of its client ends when it has them.
func TestMembersCount(t *testing.T) {
	const members = 3000 // a memory reports them in parts
	for _, delta := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			tx := new(source.Tx)
			for _, name := range numbered("%d", members) {
				tx.Put(put(clusterURL, name, "1"))
			}
			commit(t, m, tx)
			st, err := c.OpenStream(StreamOptions{Delta: delta, Budget: &Budget{Names: 1, Bytes: members * subCost}})
			if err != nil {
				t.Fatal(err)
			}
			r := proto.Message(deltaOf([]string{"*"}, nil))
			if !delta {
				r = wholeOf(nil)
			}
			if err := st.Request(encoded(t, r)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			var limit *LimitError
			if _, err := st.Next(t.Context()); !errors.As(err, &limit) || limit.Option != "Limits.ClientBytes" {
				t.Errorf("delta=%t: a client with all members gets %v, want the limit of its memory", delta, err)
			}
		})
	}
}

// A request with many names exceeds the budget by a part of its names. One that replaces names is checked at its end.
func TestALargeRequestExceedsTheBudgetByAPart(t *testing.T) {
	for _, delta := range []bool{true, false} {
		_, c := newCore(t, Config{})
		const most = 100 * NameCost
		st, err := c.OpenStream(StreamOptions{Delta: delta, Budget: &Budget{Names: 1 << 20, Bytes: most}})
		if err != nil {
			t.Fatal(err)
		}
		m := proto.Message(deltaOf(numbered("%d", 10*defaultPart), nil))
		if !delta {
			m = wholeOf(numbered("%d", 10*defaultPart))
		}
		var limit *LimitError
		if err := st.Request(encoded(t, m)); !errors.As(err, &limit) || limit.Value > most+2*defaultPart*NameCost {
			t.Errorf("delta=%t: %v, want the limit after two parts", delta, err)
		}
	}
}
