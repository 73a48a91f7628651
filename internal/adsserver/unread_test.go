package adsserver

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// The bytes of a response that no other client shares are charged to the client until it has answered, or its stream has ended:
// a client that does not read may have many streams.
func TestUnreadResponsesAreCharged(t *testing.T) {
	long := func(kind string) (list []string) {
		for i := range 100 {
			list = append(list, kind+strconv.Itoa(i)+strings.Repeat("x", 90))
		}
		return list
	}
	versions := make(map[string]string)
	for _, name := range long("gone") {
		versions[name] = "1"
	}
	removed := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"*"}, InitialResourceVersions: versions}
	for name, test := range map[string]struct {
		delta bool
		first proto.Message
	}{
		"removals":                     {true, removed},
		"absent names":                 {true, deltaOf(long("absent"), nil)},
		"refusals":                     {true, deltaOf(long("refused"), nil)},
		"refusals, state of the world": {false, wholeOf(long("refused"))},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
			b := &Budget{Names: 1000, Bytes: 1 << 20}
			open := func() (*Stream, error) {
				st, err := c.OpenStream(StreamOptions{Delta: test.delta, Budget: b, Allow: func(_, name string) bool { return !strings.HasPrefix(name, "refused") }})
				if err == nil {
					err = st.Request(encoded(t, test.first))
				}
				synctest.Wait()
				return st, err
			}
			read := func(st *Stream) (err error) {
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				for err == nil {
					_, err = st.Next(ended)
				}
				return err
			}
			st, err := open()
			if err != nil {
				t.Fatal(err)
			}
			if err := read(st); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			unread := b.bytes
			nonce := strconv.FormatUint(st.nonce, 36)
			ack := proto.Message(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: nonce})
			if !test.delta {
				ack = &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: nonce, ResourceNames: long("refused")}
			}
			if err := st.Request(encoded(t, ack)); err != nil {
				t.Fatal(err)
			}
			if got := unread - b.bytes; got < 9000 || got > 30_000 {
				t.Errorf("%s: the answer gives back %d bytes, want those of the response", name, got)
			}
			other, err := open()
			if err != nil {
				t.Fatal(err)
			}
			b.Bytes = b.bytes - other.claimed + 1000 // no room for a second response
			var limit *LimitError
			if err := read(other); !errors.As(err, &limit) || limit.Option != "Limits.ClientBytes" {
				t.Errorf("%s: a second stream ends with %v, want the limit of the client", name, err)
			}
			other.Close(nil)
			st.Close(nil)
			if b.bytes != 0 || b.names != 0 {
				t.Errorf("%s: %d bytes and %d names are charged without a stream", name, b.bytes, b.names)
			}
		})
	}
}

// Removals that were sent are forgotten, although others wait.
func TestSentRemovalsAreForgotten(t *testing.T) {
	_, c := newCore(t, Config{Limits: Limits{ResponseBytes: 100}})
	st, err := c.Open(true)
	if err == nil {
		err = st.Request(encoded(t, deltaOf([]string{"a"}, nil)))
	}
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := st.kinds[0]
	s.owed = numbered("name-%d", 100)
	all := s.owed
	if got := s.takeOwed(); len(got) == 0 || len(s.owed) == 0 || all[0] != "" || all[len(all)-1] == "" {
		t.Errorf("after %d bytes of removals, %d are owed, the first name is %q and the last one %q", len(got), len(s.owed), all[0], all[len(all)-1])
	}
}
