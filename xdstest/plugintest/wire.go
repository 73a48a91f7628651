package plugintest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Wire is a resource type whose decoder reads encoded bytes. It has a second decoder, as its descriptor generates
// with `decoder: message`.
type Wire struct {
	Plugin
	// Message unmarshals the message and decodes it.
	Message func(*resource.DecodeContext, []byte) (resource.Update, error)
	// Strict says that the decoder checks all bytes.
	Strict bool
	// Context is the context of all resources. Nil is a context without a bootstrap file that knows only this type
	// and the types that it inlines.
	Context *resource.DecodeContext
	// Seeds are encoded resources in addition to those of testdata.
	Seeds [][]byte
}

// The number of seeds for each resource, and of mutations for each seed.
const (
	seeds     = 5
	mutations = 30
)

// FuzzWire decodes bytes with both decoders of a type, and compares verdicts, violations and updates. It decodes the
// fuzzer's bytes and mutations of them. The second argument seeds the mutations.
func FuzzWire(f *testing.F, w Wire) {
	f.Helper()
	if w.Context == nil {
		w.Context = w.context(f)
	}
	for _, body := range append(w.cases(f), w.Seeds...) {
		for seed := range uint64(seeds) {
			f.Add(body, seed)
		}
	}
	descriptor := w.Plugin.Message().ProtoReflect().Descriptor()
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		w.compare(t, body)
		rnd := rand.New(rand.NewPCG(seed, 0))
		for range mutations {
			w.compare(t, mutateWire(rnd, body, descriptor))
		}
	})
}

// context returns a context that knows only this type and the types that it inlines.
func (w *Wire) context(tb testing.TB) *resource.DecodeContext {
	tb.Helper()
	types := []*resource.Descriptor{resource.Describe(w.Type)}
	for _, name := range w.Inlined {
		if name != w.Type.Name() {
			types = append(types, opaqueType(name))
		}
	}
	set, err := resource.NewSet(types...)
	if err != nil {
		tb.Fatal(err)
	}
	return &resource.DecodeContext{Version: version, Server: testServer(tb), Types: set}
}

// cases returns the encoded resources of testdata.
func (w *Wire) cases(tb testing.TB) [][]byte {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		tb.Fatal(err)
	}
	out := [][]byte{nil}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for _, f := range archive.Files {
			m := w.Plugin.Message()
			if f.Name != "resource.json" || protojson.Unmarshal(f.Data, m) != nil {
				continue
			}
			body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				tb.Fatal(err)
			}
			out = append(out, body)
		}
	}
	return out
}

// compare decodes bytes with both decoders.
func (w *Wire) compare(t *testing.T, body []byte) {
	t.Helper()
	name, err := w.resourceName(body)
	if err != nil {
		return
	}
	context := func() *resource.DecodeContext {
		dc := *w.Context
		dc.Name = name
		return &dc
	}
	before := bytes.Clone(body)
	got, gotErr := resource.Describe(w.Type).Decode(context(), body)
	want, wantErr := w.Message(context(), body)
	if !bytes.Equal(before, body) {
		t.Fatal("a decoder changed the bytes that it was given")
	}
	if !w.Strict && malformedWithin(wantErr) && w.passes(body, gotErr) {
		return // unread bytes may be malformed
	}
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%x\nby its bytes: %v\nby its message: %v", body, gotErr, wantErr)
	}
	if gotErr != nil {
		if g, m := words(gotErr), words(wantErr); g != m {
			t.Fatalf("%x\nby its bytes: %s\nby its message: %s", body, g, m)
		}
		return
	}
	if where := differ(reflect.ValueOf(got), reflect.ValueOf(want), "update"); where != "" {
		t.Fatalf("%x\nthe updates differ: %s\nby its bytes: %+v\nby its message: %+v", body, where, got, want)
	}
}

// resourceName returns the name in a resource, or "name" if it has none.
func (w *Wire) resourceName(body []byte) (xdstp.Name, error) {
	if resource.Describe(w.Type).PeekName == nil {
		return xdstp.Parse("name")
	}
	s, err := resource.Describe(w.Type).PeekName(body)
	if err != nil || s == "" {
		s = "name"
	}
	return xdstp.Parse(s)
}

// passes reports whether a decoder that does not check all bytes may return a verdict. Such a decoder may return no
// error only if the malformed bytes are outside of an Any.
func (w *Wire) passes(body []byte, got error) bool {
	if wire.Check(body, w.Plugin.Message()) {
		return true // within an Any
	}
	var invalid *resource.ValidationError
	return got == nil || errors.As(got, &invalid)
}

// malformedWithin reports whether an error is about bytes that are not a message.
func malformedWithin(err error) bool { return err != nil && strings.Contains(err.Error(), "not a ") }

// words returns the text of an error, without the spaces that protobuf varies.
func words(err error) string { return strings.ReplaceAll(err.Error(), "\u00a0", " ") }
