package plugincase

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

// FuzzWire holds both decoders of a type against each other in a context in which
// everything is there. Its seeds are those of the kit and the resources of
// testdata/cases.
func FuzzWire(f *testing.F, w plugintest.Wire, opts ...Option) {
	f.Helper()
	all := readCases(f, w.Plugin.Message)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		for _, c := range all[file] {
			body, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.message)
			if err != nil {
				f.Fatal(err)
			}
			w.Seeds = append(w.Seeds, body)
		}
	}
	w.Context = Context(f, opts...)
	plugintest.FuzzWire(f, w)
}
