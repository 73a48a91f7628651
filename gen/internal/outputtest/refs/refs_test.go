package refs

import (
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

// The fields hold the canonical form of the names.
func TestCanonical(t *testing.T) {
	const written, canonical = "xdstp://a/xdsforge.test.v1.Part/p?y=1&x=2", "xdstp://a/xdsforge.test.v1.Part/p?x=2&y=1"
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Text: written, Parts: []*testpb.Part{{Id: written}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := u.(*Update); got.Text != canonical || got.Parts[0].ID != canonical {
		t.Errorf("Text = %q, Parts[0].ID = %q; must both be %q", got.Text, got.Parts[0].ID, canonical)
	}
}

// A hook decides whether a string names a resource.
func TestHooked(t *testing.T) {
	for label, want := range map[string]string{"none:p": "", "p": "p", "xdstp://a/xdsforge.test.v1.Part/p?y=1&x=2": "xdstp://a/xdsforge.test.v1.Part/p?x=2&y=1"} {
		u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Box: &testpb.Box{Label: label}})
		if err != nil {
			t.Fatal(err)
		}
		refs := 0
		for r := range u.Refs() {
			if r.Name.String() == want {
				refs++
			}
		}
		if got := u.(*Update).Hooked; got != want || refs != min(len(want), 1) {
			t.Errorf("label %q: Hooked = %q, and %d references to it; want %q and a reference unless empty", label, got, refs, want)
		}
	}
	_, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Box: &testpb.Box{Label: "xdstp://a/xdsforge.test.v1.Wrong/p"}})
	if err == nil || !strings.Contains(err.Error(), "box.label = ") {
		t.Errorf("a hooked name of another type: error %v; want a violation at box.label", err)
	}
}

// Every place of a wrong name is told.
func TestWrongType(t *testing.T) {
	const wrong = "xdstp://a/xdsforge.test.v1.Wrong/p"
	_, err := plugintest.Decode(t, Type(), "", &testpb.Thing{
		Name: "n", Text: wrong, Tags: []string{"ok", wrong}, Parts: []*testpb.Part{{}, {Id: wrong, Aliases: []string{"x", wrong}}},
		Choice: &testpb.Thing_Word{Word: wrong},
	})
	if err == nil {
		t.Fatal("names of a wrong type were accepted")
	}
	at := 0
	for _, path := range []string{"text = ", "tags[1] = ", "parts[1].aliases[1] = ", "parts[1].id = ", "word = "} {
		i := strings.Index(err.Error()[at:], path)
		if i < 0 {
			t.Errorf("no violation at %s in %v", path, err)
			continue
		}
		at += i
	}
}
