package routing_test

import (
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc/status"
)

// The error of a route does not contain the full name of its virtual host. Otherwise a response of
// a few megabytes could take any amount of memory. The part that a caller sees is printable.
func TestLongNamesAreClipped(t *testing.T) {
	w := newWorld(t)
	const size, count = 1 << 20, 2000
	c := w.config("", `virtual_hosts { name: "`+`a\nb\033`+strings.Repeat("h", size)+`" domains: "svc" `+
		strings.Repeat(`routes { name: "r" match { prefix: "/" } redirect {} }`, count)+` }`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table := w.channel.Compile(c, w.settings())
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("a table of %d routes allocates %d MiB; the name of the virtual host has 1 MiB", count, took>>20)
	}
	w.channel.Set(table, nil)
	_, err := w.call(soon(t), "/p.S/A")
	if m := status.Convert(err).Message(); !strings.Contains(m, `virtual host "a\nb\x1bhhh`) || len(m) > 2<<10 {
		t.Errorf("the error of a call has %d bytes: %.500q; want the name escaped and clipped", len(m), m)
	}
}
