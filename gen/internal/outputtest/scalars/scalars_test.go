package scalars

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func decodeThing(t *testing.T, m *testpb.Thing) *Update {
	t.Helper()
	u, err := plugintest.Decode(t, Type(), "", m)
	if err != nil {
		t.Fatal(err)
	}
	return u.(*Update)
}

func TestValues(t *testing.T) {
	got := decodeThing(t, &testpb.Thing{
		Name: "n", Flag: true, Small: 1, Big: 2, Count: 3, Total: 4, Ratio: 5, Precise: 6, Text: "7", Blob: []byte("8"),
		Zigzag: 9, Fixed: 10, Tags: []string{"11"}, Numbers: []uint32{12}, Blobs: [][]byte{[]byte("13")},
		Labels: map[string]string{"14": "15"}, Limits: map[string]uint32{"16": 17}, Maybe: proto.Uint32(0), MaybeText: new("18"),
		Choice: &testpb.Thing_Word{Word: ""}, Inner: &testpb.Thing{Inner: &testpb.Thing{Maybe: proto.Uint32(19)}},
		Parts: []*testpb.Part{{Aliases: []string{"20", "21"}, Parts: []*testpb.Part{{Id: "22"}}}, {Parts: []*testpb.Part{{}, {Id: "23"}}}},
	})
	want := &Update{
		Flag: true, Small: 1, Big: 2, Count: 3, Total: 4, Ratio: 5, Precise: 6, Text: "7", Self: "7", Blob: []byte("8"),
		Zigzag: 9, Fixed: 10, Tags: []string{"11"}, Numbers: []uint32{12}, Blobs: [][]byte{[]byte("13")},
		Labels: map[string]string{"14": "15"}, Limits: map[string]uint32{"16": 17}, Maybe: new(uint32(0)), MaybeText: "18",
		Word: new(""), Deep: new(uint32(19)), MaybeFlag: true, Names: []string{"n", "7", "11", "20", "21"}, IDs: []string{"22", "", "23"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	got := decodeThing(t, &testpb.Thing{Name: "n", Inner: &testpb.Thing{}})
	want := &Update{Small: -7, Ratio: 0.1, Text: "none", Self: "n", MaybeText: "unsaid", MaybeFlag: true, Names: []string{"n", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}

// A zero that is there is not replaced where it can be told from absence.
func TestExplicitZero(t *testing.T) {
	got := decodeThing(t, &testpb.Thing{Name: "n", MaybeText: new(""), MaybeFlag: new(false)})
	if got.MaybeText != "" || got.MaybeFlag {
		t.Errorf("MaybeText = %q, MaybeFlag = %v; must be the zeros that were sent", got.MaybeText, got.MaybeFlag)
	}
}
