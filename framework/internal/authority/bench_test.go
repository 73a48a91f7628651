package authority

import (
	"fmt"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// A response with everything, as it was or new.
func BenchmarkResponse(b *testing.B) {
	const n = 10_000
	types, err := resource.NewSet(clusters)
	if err != nil {
		b.Fatal(err)
	}
	m := New(Config{Types: types, Servers: []*bootstrap.Server{newServer(b, "xds.test:1")}})
	now := time.Unix(0, 0)
	results := make([]Result, n)
	for i := range results {
		dc := resource.DecodeContext{Name: name(b, fmt.Sprint(i))}
		u, err := decode(&dc, []byte(fmt.Sprint(i)))
		if err != nil {
			b.Fatal(err)
		}
		m.Watch(m.Handle(clusters, dc.Name), new(watcher), now)
		results[i] = Result{Name: dc.Name, Update: u}
	}
	received := func(resp *Response) {
		m.Received(resp, now)
		ready := m.Ready()
		ready.Clear()
	}
	received(&Response{Type: clusters, Results: results})
	unchanged := make([]Unchanged, n)
	for i := range unchanged {
		unchanged[i] = Unchanged{Update: results[i].Update, Record: results[i].Record}
	}
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			received(&Response{Type: clusters, Unchanged: unchanged, Version: "2"})
		}
	})
	b.Run("results", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			received(&Response{Type: clusters, Results: results})
		}
	})
}
