package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse expects Parse never to panic. It returns either an error or a usable configuration, and
// reports each problem once.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"a47.json", "invalid.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		for piece := range strings.SplitSeq(string(data), "\n") {
			if _, object, ok := strings.Cut(piece, `"in": `); ok {
				f.Add(object, "xds:a")
			}
		}
	}
	f.Add(complete, "xds://east/a%2Fb")
	f.Fuzz(func(t *testing.T, file, target string) {
		c, err := Parse([]byte(file))
		if (c == nil) != (err != nil) {
			t.Fatalf("%v beside %v", c, err)
		}
		seen := make(map[string]bool)
		for _, message := range messages(err) {
			if seen[message] {
				t.Fatalf("reported twice: %s", message)
			}
			seen[message] = true
		}
		if err != nil {
			return
		}
		for _, name := range c.Authorities() {
			a, _ := c.Authority(name)
			for _, s := range append(a.Servers, c.Servers()...) {
				if !c.HasServer(s) || s.ChannelCreds().Type() == "" {
					t.Fatalf("%v is no server of %v", s, c)
				}
			}
		}
		if n, err := c.ClientListenerName(target); (err != nil) != n.IsZero() {
			t.Fatalf("ClientListenerName(%q) = %q, %v", target, n, err)
		}
	})
}
