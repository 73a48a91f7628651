package httpxds

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// FuzzHeaders expects routes to match a header by the values that net/http reads, and load reports of any form to be read.
func FuzzHeaders(f *testing.F) {
	f.Add("X-User", "alice", "alice")
	f.Add("x-USER", " a , b\r\nx-user: c", "a , b,c")
	f.Add("Endpoint-Load-Metrics", `JSON {"cpu_utilization":0.5}`, "")
	f.Add("Endpoint-Load-Metrics", "TEXT cpu_utilization=0.5,utilization.=NaN", "")
	f.Add("Endpoint-Load-Metrics-Bin", "CQAAAAAAAOA/", "")
	f.Add("Host", "other", "svc")
	f.Add("Cookie", "a=b; c", "")
	f.Fuzz(func(t *testing.T, name, value, text string) {
		raw := "GET /a HTTP/1.1\r\nHost: svc\r\n" + name + ": " + value + "\r\n\r\n"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil {
			return // servers of net/http reject it
		}
		_ = loadOf(r.Header)
		lower := strings.ToLower(name)
		m := maker{table: &table{canonical: make(map[string]string)}}
		m.read(lower)
		v := &view{table: m.table, request: r}
		want := r.Header.Values(name)
		if got := v.Values(lower); !slices.Equal(got, want) {
			t.Fatalf("routes read %q of the header %q; want %q", got, name, want)
		}
		exact := matcher.Header{Name: lower, Value: matcher.String{Kind: matcher.Exact, Text: text}}
		if got := route.MatchHTTPHeader(&exact, v.Values); got != (len(want) > 0 && strings.Join(want, ",") == text) {
			t.Fatalf("the values %q match %q: %t", want, text, got)
		}
		there := len(want) > 0
		if present := (matcher.Header{Name: lower, Present: &there}); !route.MatchHTTPHeader(&present, v.Values) {
			t.Fatalf("the values %q count as present: %t", want, !there)
		}
		_, _ = v.Value(&route.HashPolicy{Kind: route.HashCookie, Header: text})
	})
}
