package xdstp

import "testing"

var canonicalNames = map[string]string{
	"old":     "outbound|9080||reviews.default.svc.cluster.local",
	"short":   "xdstp:///envoy.config.cluster.v3.Cluster/checkout",
	"params":  "xdstp://xds.example.com/envoy.config.listener.v3.Listener/grpc/client/server.example.com?project_id=1234&zone=a",
	"many":    "xdstp://e/t/i?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=10&k=11&l=12",
	"escapes": "xdstp://a%2Fb/envoy.config.listener.v3.Listener/grpc/server/%5B::%5D:8080/%E6%97%A5?%23=%26&%25=%C3%A9",
}

func TestParseDoesNotAllocate(t *testing.T) {
	for kind, s := range canonicalNames {
		var n Name
		var err error
		if allocs := testing.AllocsPerRun(100, func() { n, err = Parse(s) }); allocs != 0 || err != nil || n.String() != s {
			t.Errorf("%s: Parse(%q) = %q, %v with %v allocations, want 0", kind, s, n, err, allocs)
		}
	}
	const entry = "xdstp://e/t/i#entry=a"
	if allocs := testing.AllocsPerRun(100, func() { _, _ = Parse(entry) }); allocs != 0 {
		t.Errorf("Parse(%q): %v allocations, want 0", entry, allocs)
	}
}

func TestPartsDoNotAllocate(t *testing.T) {
	n := parse(t, canonicalNames["params"])
	member := parse(t, "xdstp://xds.example.com/envoy.config.listener.v3.Listener/grpc/client/x?project_id=1234&zone=a")
	glob := parse(t, "xdstp://xds.example.com/envoy.config.listener.v3.Listener/grpc/client/*?project_id=1234&zone=a")
	length := 0
	allocs := testing.AllocsPerRun(100, func() {
		length = len(n.Authority()) + len(n.Type()) + len(n.ID())
		for key, value := range n.Params() {
			length += len(key) + len(value)
		}
		if glob.Contains(member) && n.CheckType("envoy.config.listener.v3.Listener") == nil {
			length++
		}
	})
	if want := 15 + 33 + 30 + 10 + 4 + 4 + 1 + 1; allocs != 0 || length != want {
		t.Errorf("%v allocations, want 0; length %d, want %d", allocs, length, want)
	}
}

func BenchmarkParse(b *testing.B) {
	for kind, s := range canonicalNames {
		b.Run("canonical/"+kind, func(b *testing.B) { benchmarkParse(b, s) })
	}
	b.Run("normalized", func(b *testing.B) {
		benchmarkParse(b, "xdstp://xds.example.com/envoy.config.listener.v3.Listener/%5b::1%5d%3A80?zone=a&project_id=1234")
	})
}

func benchmarkParse(b *testing.B, s string) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(s); err != nil {
			b.Fatal(err)
		}
	}
}
