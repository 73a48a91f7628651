package ads

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// heap is the memory in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestPartedNamesAreFewBytes(t *testing.T) {
	const names, most = 200_000, 16
	list := make([]string, names)
	for i := range list {
		list[i] = fmt.Sprint("name-", i)
	}
	var p parted
	before := heap()
	for _, name := range list {
		p.add(name, names)
	}
	if each := (heap() - before) / names; each > most {
		t.Errorf("a name takes %d bytes; want %d at most", each, most)
	}
	for _, name := range list {
		if !p.take(name) || p.take(name) {
			t.Fatalf("%s is not taken once", name)
		}
	}
	if p.hashes != nil {
		t.Error("the set keeps its memory when it is empty")
	}
}

func TestPartedNamesAreBounded(t *testing.T) {
	var p parted
	for i := range maxParted + 10 {
		p.add(fmt.Sprint(i), 1<<40)
	}
	if len(p.hashes) != maxParted {
		t.Errorf("%d names are kept; want %d", len(p.hashes), maxParted)
	}
}

// A former member that came again or was removed is not one any longer.
func TestFormerMemberThatIsHeardOfIsSubscribedToAtOnce(t *testing.T) {
	for _, heard := range []Received{
		{Type: clusters, Nonce: "2", Accepted: accepted("m", "2")},
		{Type: clusters, Nonce: "2", Removed: []string{"m"}},
	} {
		r := newDeltaRig(t, Delta)
		r.open(clusters, resource.Wildcard, "o")
		r.do(Received{Type: clusters, Nonce: "1", Accepted: accepted("m", "1", "n", "1", "o", "1")})
		r.do(Unsubscribe{clusters, resource.Wildcard}, heard)
		r.pass(time.Second)
		for range 3 { // two ACKs, and the end of the wildcard
			r.sent()
		}
		r.silent()
		r.do(Subscribe{clusters, "m"})
		r.pass(time.Second)
		r.asks(r.sent(), "[m]", "[]", nil)
		r.do(Subscribe{clusters, "n"})
		r.pass(time.Second)
		r.asks(r.sent(), "[]", "[n]", nil)
		r.asks(r.sent(), "[n]", "[]", nil)
	}
}

// A machine that had many names keeps no more than its last effects, which have each
// name once, when its stream is gone.
func TestNamesThatAreGoneLeaveNoMemory(t *testing.T) {
	const names, most = 50_000, 5 << 19
	for _, delta := range []bool{false, true} {
		r := newRig(t)
		if delta {
			r = newDeltaRig(t, Delta)
		}
		r.open(clusters, "first")
		before := heap()
		for i := range names {
			r.do(Subscribe{clusters, fmt.Sprint("name-", i)})
		}
		r.pass(time.Minute)
		r.sent()
		for i := range names {
			r.do(Unsubscribe{clusters, fmt.Sprint("name-", i)})
		}
		r.do(Unsubscribe{clusters, "first"}, Closed{})
		if kept := int64(heap()) - int64(before); kept > most {
			t.Errorf("delta %v: the machine keeps %d bytes; want %d at most", delta, kept, most)
		}
		runtime.KeepAlive(r)
	}
}
