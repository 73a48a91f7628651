package shown

import (
	"encoding/json"
	"testing"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

// A secret is not shown, and a hidden field is, unless it is both.
func TestShown(t *testing.T) {
	got, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Text: "key", Small: 3, Flag: true, Big: 5})
	if err != nil {
		t.Fatal(err)
	}
	u := got.(*Update)
	if u.Text != "key" || u.small != 3 || !u.httpFlag || u.big != 5 || u.Doubled != 6 {
		t.Errorf("update %#v", u)
	}
	const text = `"n" version "1" {Text: <secret>, Small: 3, HTTPFlag: true, Doubled: 6}`
	if u.String() != text {
		t.Errorf("String() = %s, want %s", u, text)
	}
	encoded, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	var shown struct{ Value map[string]any }
	if err := json.Unmarshal(encoded, &shown); err != nil {
		t.Fatal(err)
	}
	if v := shown.Value; len(v) != 4 || v["text"] != "<secret>" || v["small"] != 3.0 || v["httpFlag"] != true || v["doubled"] != 6.0 {
		t.Errorf("JSON %s", encoded)
	}
}
