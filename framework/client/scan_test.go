package client

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

type plainUpdate struct{ resource.Meta }

// responseOf is a response with the bodies.
func responseOf(bodies ...[]byte) []byte {
	const url = "type.googleapis.com/test.Thing"
	var raw []byte
	for _, body := range bodies {
		packed := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), url)
		packed = protowire.AppendBytes(protowire.AppendTag(packed, 2, protowire.BytesType), body)
		raw = protowire.AppendBytes(protowire.AppendTag(raw, 2, protowire.BytesType), packed)
	}
	return protowire.AppendString(protowire.AppendTag(raw, 4, protowire.BytesType), url)
}

// remembering is a memory of bodies.
func remembering(tb testing.TB, bodies [][]byte) *typeCache {
	tb.Helper()
	s := &typeCache{seed: maphash.MakeSeed(), response: 1}
	s.reserve(len(bodies))
	for i, body := range bodies {
		s.add(item{raw: text(body), update: updateOf(tb, i, body)})
	}
	return s
}

func updateOf(tb testing.TB, number int, body []byte) *plainUpdate {
	tb.Helper()
	name, err := xdstp.Parse(fmt.Sprint("thing ", number))
	if err != nil {
		tb.Fatal(err)
	}
	dc := resource.DecodeContext{Name: name}
	return &plainUpdate{dc.Meta(body)}
}

// The scan distinguishes names with the same prefix, and names of the same length.
func TestScanComparesAllBytes(t *testing.T) {
	body := func(name, end string) []byte { return fmt.Appendf(nil, "%-200s%s", name, end) }
	known := [][]byte{body("a", "1"), body("b", "1"), body("c", "1")}
	s := remembering(t, known)
	w := new(scratch)
	sent := [][]byte{body("b", "1"), body("a", "2"), body("c", "1"), body("c", "1"), body("d", "1")}
	if err := w.response.Parse(responseOf(sent...), false); err != nil {
		t.Fatal(err)
	}
	s.response++
	s.scan(w, len(sent))
	var names []string
	for _, u := range w.unchanged {
		names = append(names, u.Update.Name().String())
	}
	if got := fmt.Sprint(names); got != "[thing 1 thing 2]" {
		t.Errorf("unchanged are %s, want b and c, once", got)
	}
	for i, same := range []bool{true, false, true, false, false} {
		if (w.found[i] != 0) != same {
			t.Errorf("resource %d found: %v, want %v", i, !same, same)
		}
	}
}

// The reader cache keeps only the newest content of a resource that changes. The previous content
// takes no room.
func TestScanKnowsWhatIsCurrent(t *testing.T) {
	body := func(version int) []byte { return fmt.Appendf(nil, "thing 1 %d", version) }
	s := remembering(t, [][]byte{[]byte("thing 0"), body(0)})
	const changes = 1000
	for version := range changes {
		s.reserve(1)
		u := updateOf(t, 1, body(version+1))
		s.add(item{raw: text(u.Raw()), update: u, response: s.response})
	}
	if len(s.items) != 2 || len(s.slots) > 64 {
		t.Errorf("%d items in %d slots, want 2 in 64", len(s.items), len(s.slots))
	}
	w := new(scratch)
	if err := w.response.Parse(responseOf(body(changes-1), body(changes), []byte("thing 0")), false); err != nil {
		t.Fatal(err)
	}
	s.response++
	s.scan(w, w.response.Len())
	if w.found[0] != 0 || w.found[1] == 0 || w.found[2] == 0 {
		t.Errorf("found %v, want the second and the third", w.found)
	}
}

// Everything again, in another order.
func BenchmarkScan(b *testing.B) {
	bodies := make([][]byte, 10_000)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, "thing %d%300s", i, "")
	}
	s := remembering(b, bodies)
	again := make([][]byte, len(bodies))
	for i, j := range rand.Perm(len(bodies)) {
		again[i] = bodies[j]
	}
	raw := responseOf(again...)
	w := new(scratch)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.response.Parse(raw, false); err != nil {
			b.Fatal(err)
		}
		s.response++
		s.scan(w, len(bodies))
		if len(w.unchanged) != len(bodies) {
			b.Fatalf("%d are unchanged", len(w.unchanged))
		}
	}
}
