package resource

import (
	"encoding/json"
	"testing"
)

// The config quotes the name of a policy if JSON requires it. A list of policies may contain
// another.
func TestLBConfig(t *testing.T) {
	for _, c := range []LBConfig{{"round_robin", "{}"}, {"", ""}, {"a\"b\\c", `{"x":1}`}, {"\x01é", "{}"}} {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got []map[string]json.RawMessage
		if err := json.Unmarshal(text, &got); err != nil || len(got) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		want := c.Config
		if want == "" {
			want = "null"
		}
		if config, ok := got[0][c.Name]; !ok || string(config) != want {
			t.Errorf("%q became %s", c, text)
		}
		var outer struct{ Child json.RawMessage }
		if err := json.Unmarshal([]byte(c.List(`{"child":`, "}")), &outer); err != nil || string(outer.Child) != string(text) {
			t.Errorf("below another: %s, %v; want %s", outer.Child, err, text)
		}
	}
}
