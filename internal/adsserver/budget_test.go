package adsserver

import (
	"errors"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// A budget bounds the names of all streams of a client. It counts those of open streams.
func TestBudget(t *testing.T) {
	_, c := newCore(t, Config{})
	b := &Budget{Names: 3, Bytes: 10}
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
	if err := change(second, []string{"fffffffff"}, nil); !errors.As(err, &limit) || limit.Value != 11 || limit.Max != 10 {
		t.Errorf("11 bytes: %v, want the limit of bytes", err)
	}
	within(change(open(), []string{"gggggggggg"}, nil))
}

// The budget counts a request that replaces names by more names of the same size, or by a longer one.
func TestBudgetOfReplacedNames(t *testing.T) {
	for limit, names := range map[string][]string{"names": {"b", "c", "d"}, "bytes of names, initial versions and nodes": {"eeeee"}} {
		_, c := newCore(t, Config{})
		st, err := c.OpenStream(StreamOptions{Delta: true, Budget: &Budget{Names: 2, Bytes: 4}})
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
