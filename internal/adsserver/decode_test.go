package adsserver

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// Lists beyond their limits cost no memory: an empty element takes two bytes in a request, and 48 when it is decoded.
func TestListsBeyondTheirLimits(t *testing.T) {
	const n = 1_000_000
	for name, test := range map[string]struct {
		delta  bool
		field  []byte
		option string
	}{
		"names":                     {true, wire.Text(deltaSubscribe, ""), "Limits.Names"},
		"names, state of the world": {false, wire.Text(wholeNames, ""), "Limits.Names"},
		"names to unsubscribe from": {true, wire.Text(deltaUnsubscribe, ""), "Limits.Names"},
		"initial versions":          {true, wire.Field(deltaInitial), "Limits.InitialVersions"},
	} {
		_, c := newCore(t, Config{})
		st, err := c.Open(test.delta)
		if err != nil {
			t.Fatal(err)
		}
		raw := append(wire.Text(map[bool]protowire.Number{true: deltaURL, false: wholeURL}[test.delta], clusterURL), bytes.Repeat(test.field, n)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = st.Request(raw)
		runtime.ReadMemStats(&after)
		var limit *LimitError
		if !errors.As(err, &limit) || limit.Option != test.option || limit.Value != n {
			t.Errorf("%s: the request returns %v, want %s and the value %d", name, err, test.option, n)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%s: the server allocates %d bytes for a request of %d", name, got, len(raw))
		}
	}
}
