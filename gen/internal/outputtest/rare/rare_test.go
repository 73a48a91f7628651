package rare

import (
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func decodeText(t *testing.T, text string) *Update {
	t.Helper()
	m := new(testpb.Thing)
	if err := prototext.Unmarshal([]byte("name: 'n' "+text), m); err != nil {
		t.Fatal(err)
	}
	u, err := plugintest.Decode(t, Type(), "", m)
	if err != nil {
		t.Fatal(err)
	}
	return u.(*Update)
}

// The pointer is nil until any one of the fields behind it is set.
func TestRare(t *testing.T) {
	common := decodeText(t, "count: 3")
	if common.Rare != nil || common.Count != 3 {
		t.Errorf("without a rare field, the update is %v", common)
	}
	for _, text := range []string{
		"flag: true", "small: 1", "text: 'x'", "blob: 'x'", "tags: ''", "labels { key: 'k' }", "maybe: 0", "color: COLOR_RED",
		"timeout { seconds: 1 }", "born { seconds: 1 }", "settings { fields { key: 'k' value { bool_value: true } } }",
		"total: 1", "part { aliases: 'a' }", "word: 'w'", "big: 1", "score { value: 1 }",
	} {
		u := decodeText(t, "count: 3 "+text)
		if u.Rare == nil {
			t.Errorf("%s: the field is lost", text)
		}
		if u.Equal(common) || common.Equal(u) || !u.Equal(decodeText(t, "count: 3 "+text)) {
			t.Errorf("%s: Equal does not compare the field", text)
		}
	}
}
