package plugincase

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

// FuzzWire holds both decoders of a type against each other in a context in which
// everything is there. Its seeds are those of the kit and the resources of
// testdata/cases.
func FuzzWire(f *testing.F, w plugintest.Wire, opts ...Option) {
	f.Helper()
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d files of cases, %v", len(files), err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range archive.Files {
			text, _ := split(string(c.Data))
			m := w.Plugin.Message()
			if err := prototext.Unmarshal([]byte(text), m); err != nil {
				f.Fatal(err)
			}
			body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			w.Seeds = append(w.Seeds, body)
		}
	}
	w.Context = Context(f, opts...)
	plugintest.FuzzWire(f, w)
}
