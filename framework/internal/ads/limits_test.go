package ads

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// numbered returns n names.
func numbered(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

func subscribe(typ string, names ...string) string {
	return "subscribe " + typ + " " + strings.Join(names, " ")
}

func unsubscribe(typ string, names ...string) string {
	return "un" + subscribe(typ, names...)
}

// A burst of subscriptions is one request.
func TestOneRequestForABurst(t *testing.T) {
	r := newRig(t)
	first := r.one(subscribe("cluster", numbered("c%05d", 10_000)...))
	if len(first.Names) != 10_000 || !first.First || first.Nonce != "" || first.Version != "" {
		t.Errorf("first request: %d names, First %v, nonce %q, version %q", len(first.Names), first.First, first.Nonce, first.Version)
	}
	if more := r.run("wait 1s"); len(more) > 0 {
		t.Errorf("%d more requests, want none", len(more))
	}
}

// New names wait for 10 µs for each name of the last request.
func TestNewNamesWaitInProportionToTheList(t *testing.T) {
	for protocol, want := range map[Protocol]int{StateOfTheWorld: 1001, Delta: 1} {
		r := newRigOf(t, protocol)
		r.run(subscribe("cluster", numbered("%d", 1000)...))
		if early := r.run("subscribe cluster late", "deadline"); len(early) > 0 || !strings.Contains(r.output.String(), "deadline in 10ms") {
			t.Errorf("protocol %v: %d requests and %q, want none and 10 ms", protocol, len(early), r.output.String())
		}
		if s := r.one("wait 10ms"); len(s.Names)+len(s.Subscribe) != want {
			t.Errorf("protocol %v: %d names, want %d", protocol, len(s.Names)+len(s.Subscribe), want)
		}
	}
}

// If names are subscribed to one by one, the requests must not grow with the square of their number.
// 20,000 requests would hold 200 million names.
func TestBytesAreLinearInNames(t *testing.T) {
	for _, c := range []struct {
		every time.Duration // between two watches
		most  int           // names sent for each name watched
	}{
		{10 * time.Microsecond, 3},
		{100 * time.Microsecond, 12},
		{time.Millisecond, 102},
	} {
		for _, n := range []int{1000, 10000} {
			r := newRig(t)
			r.run("subscribe cluster first")
			sent := 0
			for i := range n {
				r.now = r.now.Add(c.every)
				for _, s := range r.run(subscribe("cluster", fmt.Sprint(i))) {
					sent += len(s.Names)
				}
			}
			if sent > c.most*n {
				t.Errorf("a watch every %v: %d names sent for %d watches, want at most %d each", c.every, sent, n, c.most)
			}
		}
	}
}

// Requests share the machine's list of names. The list never changes, and is the same one as long as the names are.
func TestNamesOfRequestsDoNotChange(t *testing.T) {
	r := newRig(t)
	first := r.one("subscribe cluster 0 1 2 3 4")
	want := slices.Clone(first.Names)
	if again := r.one("response cluster version=1 nonce=1"); &again.Names[0] != &first.Names[0] || len(again.Names) != len(first.Names) {
		t.Error("an ACK has another list than the request before it, although the names are the same")
	}
	for i := range 20 {
		r.run("wait 1m")
		sends := r.run(unsubscribe("cluster", fmt.Sprint(i%5)), subscribe("cluster", fmt.Sprint("new-", i)))
		s := sends[len(sends)-1]
		now := slices.Clone(s.Names)
		r.run("stall", subscribe("cluster", fmt.Sprint("late-", i)), unsubscribe("cluster", s.Names[0]))
		if !slices.Equal(s.Names, now) {
			t.Fatalf("step %d: names of a request became %v; they were %v", i, s.Names, now)
		}
		r.run("unstall")
	}
	if !slices.Equal(first.Names, want) {
		t.Errorf("names of the first request became %v; they were %v", first.Names, want)
	}
}

// The server never reads. Names that are watched and cancelled use no memory.
func TestCancelledNamesLeaveNothing(t *testing.T) {
	r := newRigOf(t, Delta)
	r.run("subscribe cluster a")
	for range 100 {
		r.run("stall", "subscribe cluster b", "unsubscribe cluster b")
	}
	if n := len(r.m.of(clusters).(*deltaNames).fresh); n != 0 {
		t.Errorf("the machine keeps %d names, want none", n)
	}
}

// The server never answers the names.
func TestUnansweredNamesLeaveNothing(t *testing.T) {
	r := newRig(t)
	r.run("subscribe cluster a")
	r.run("response cluster version=1 nonce=n1 a")
	for _, name := range numbered("b%d", 1000) {
		r.one("wait 1s", subscribe("cluster", name))
		r.one("wait 1s", unsubscribe("cluster", name))
	}
	if n := len(r.m.of(clusters).(*sotwNames).pending.left); n > 20 {
		t.Errorf("the machine remembers %d of 1,000 dropped names, want those of the last 20 s at most", n)
	}
}

// A machine whose stream ended keeps no memory for its dropped names.
func TestDroppedNamesLeaveNoMemory(t *testing.T) {
	const most = 1 << 16
	names := numbered("name-%d", 50_000)
	for _, protocol := range []Protocol{StateOfTheWorld, Delta} {
		r := newRigOf(t, protocol)
		r.run("subscribe cluster first")
		before := heap()
		for _, name := range names {
			r.change(Change{Subscribe, clusters, strings.Clone(name)})
		}
		r.run("wait 1m")
		for _, name := range names {
			r.change(Change{Unsubscribe, clusters, strings.Clone(name)})
		}
		r.run("unsubscribe cluster first", "closed")
		r.sends = nil
		r.output.Reset()
		if kept := int64(heap()) - int64(before); kept > most {
			t.Errorf("protocol %v: the machine keeps %d bytes; want %d at most", protocol, kept, most)
		}
		runtime.KeepAlive(r)
	}
	runtime.KeepAlive(names)
}

// Maps and lists that had many names are replaced when they are empty, because they never shrink. Others are kept.
func TestLargeMapsAreReplaced(t *testing.T) {
	for n, replaced := range map[int]bool{manyNames: false, manyNames + 1: true} {
		names := numbered("%d", n)
		m, s := make(map[string]struct{}), newSotwNames(clusters, &Config{})
		s.names = make([]string, 0, n)
		for _, name := range names {
			m[name] = struct{}{}
			s.add(name)
		}
		if got := emptied(m); len(got) != 0 || reflect.ValueOf(got).Pointer() == reflect.ValueOf(m).Pointer() == replaced {
			t.Errorf("%d names: the map of %d names is replaced: %v, want %v", n, len(got), !replaced, replaced)
		}
		for i, name := range names {
			s.remove(name)
			if i < n-1 && s.names == nil {
				t.Fatalf("%d names: the list is replaced before it is empty", n)
			}
		}
		if (s.names == nil) != replaced {
			t.Errorf("%d names: the list is replaced: %v, want %v", n, !replaced, replaced)
		}
	}
}

// heap is the memory in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The machine drops the oldest answers if the server does not read.
func TestAnswersOfDeltaAreBounded(t *testing.T) {
	for responses, first := range map[int]string{maxAnswers: "0", maxAnswers + 1: "1", maxAnswers + 9: "9"} {
		r := newRigOf(t, Delta)
		r.run("subscribe cluster a")
		var lines []string
		for i := range responses {
			lines = append(lines, fmt.Sprintf("response cluster nonce=%d", i))
		}
		sends := r.run(lines...)
		if sends[0].Nonce != first || len(sends) != min(responses, maxAnswers) {
			t.Errorf("%d responses: %d answers from %s on, want %d from %s on", responses, len(sends), sends[0].Nonce, min(responses, maxAnswers), first)
		}
	}
}

// The client holds many resources. gRPC servers refuse requests of more than 4 MiB by default.
func TestDeltaRequestsAreBounded(t *testing.T) {
	size := func(s Request) (bytes int) {
		for _, name := range slices.Concat(s.Subscribe, s.Unsubscribe) {
			bytes += len(name)
		}
		for name, version := range s.Versions {
			bytes += len(name) + len(version)
		}
		return bytes
	}
	r := newRigOf(t, Delta)
	names := numbered("%0100d", 50_000)
	r.run(subscribe("cluster", names...))
	r.run("wait 1s")
	r.run("response cluster nonce=1 " + strings.Join(names, "=1 ") + "=1")
	check := func(sends []Request) (subscribed, unsubscribed int) {
		t.Helper()
		for _, s := range sends {
			subscribed, unsubscribed = subscribed+len(s.Subscribe), unsubscribed+len(s.Unsubscribe)
			if size(s) > maxRequest {
				t.Errorf("a request of %d bytes, want %d at most", size(s), maxRequest)
			}
			if subscribed > unsubscribed && unsubscribed > 0 {
				t.Error("a name is subscribed to again before the server has seen it dropped")
			}
		}
		return subscribed, unsubscribed
	}
	first := r.run("closed", "wait 1m")
	if n, _ := check(first); n != len(names) || len(first) < 3 {
		t.Errorf("%d names in %d requests, want %d in 3 or more", n, len(first), len(names))
	}
	again := r.run(unsubscribe("cluster", names...), subscribe("cluster", names...), "wait 1m")
	if n, dropped := check(again); n != len(names) || dropped != n {
		t.Errorf("%d names dropped and %d subscribed to again, want %d of both", dropped, n, len(names))
	}
}

// The machine sends long names in several requests, and each request is within its limit.
func TestLongListsLeaveInSeveralRequests(t *testing.T) {
	r := newRigOf(t, Delta)
	long := strings.Repeat("x", 1<<20-1)
	if s := r.one(subscribe("cluster", "a"+long, "b"+long, "c"+long)); len(s.Subscribe) != 2 {
		t.Fatalf("the first request has %d names, want the 2 that it has room for", len(s.Subscribe))
	}
	if s := r.one("wait 1s"); len(s.Subscribe) != 1 || s.Subscribe[0] != "c"+long {
		t.Errorf("the second request has %d names, want the last one", len(s.Subscribe))
	}
	r.one("wait 1s", "response cluster nonce=1")
	sends := r.run("repeat cluster a"+long+" b"+long+" c"+long, "wait 1s")
	if len(sends) != 2 || sends[0].Repeated != 2 || sends[1].Repeated != 1 || len(sends[1].Subscribe) != 1 {
		t.Errorf("%d requests repeat the names, want one with 2 names and one with the last", len(sends))
	}
}

func TestLingeringNamesAreBounded(t *testing.T) {
	r := newRigOf(t, Delta)
	r.run("subscribe cluster *")
	r.run("response cluster nonce=1 one=1 other=1", "subscribe cluster one other")
	r.run("wait 1m")
	lingering := make(map[string]struct{}, maxLingering)
	for _, name := range numbered("%d", maxLingering-1) {
		lingering[name] = struct{}{}
	}
	r.m.of(clusters).(*deltaNames).lingering = lingering
	if sends := r.run("unsubscribe cluster one", "wait 1m"); len(sends) > 0 {
		t.Errorf("%d requests, want none: the name lingers", len(sends))
	}
	if s := r.one("unsubscribe cluster other"); !slices.Equal(s.Unsubscribe, []string{"other"}) {
		t.Errorf("the request unsubscribes from %v, want [other]", s.Unsubscribe)
	}
}

// One state-of-the-world request repeats all overdue names of its type.
func TestOverdueNamesShareRequests(t *testing.T) {
	r := newRig(t)
	names := numbered("%d", 10_000)
	r.run(subscribe("endpoint", names...))
	r.run("wait 7.5s")
	for i, s := range append(r.run("repeat endpoint "+strings.Join(names[:100], " ")), r.run("wait 20m")...) {
		if len(s.Names) != len(names) || s.Repeated != 100 || s.Reject != "" {
			t.Errorf("request %d has %d names, %d of them overdue, want %d and 100", i, len(s.Names), s.Repeated, len(names))
		}
	}
}

func TestFit(t *testing.T) {
	names := []string{"aaa", "bbb", "ccc"}
	for room, want := range map[int]int{0: 0, 2: 0, 3: 1, 8: 2, 9: 3, 10: 3} {
		left := room
		if got := fit(names, &left); !slices.Equal(got, names[:want]) {
			t.Errorf("room for %d bytes: %v, want %v", room, got, names[:want])
		}
	}
}

// The first request of a stream claims as many versions as it has room for.
func TestToldVersionsAreBounded(t *testing.T) {
	for room, want := range map[int]int{0: 0, 4: 0, 5: 1, 9: 1, 10: 2, 100: 3} {
		s := newDeltaNames(clusters, &Config{})
		for _, name := range []string{"aaa", "bbb", "ccc"} {
			s.held[name] = Resource{Name: name, Version: "vv"}
		}
		s.announce(room)
		if len(s.announced) != want {
			t.Errorf("room for %d bytes: %v, want %d versions", room, s.announced, want)
		}
	}
}

func TestPartedNamesAreFewBytes(t *testing.T) {
	const names, most = 200_000, 16
	list := numbered("name-%d", names)
	var p formerMembers
	before := heap()
	for _, name := range list {
		p.add(name, names)
	}
	if each := (heap() - before) / names; each > most {
		t.Errorf("a name takes %d bytes; want %d at most", each, most)
	}
	for _, name := range list {
		if !p.take(name) || p.take(name) {
			t.Fatalf("take(%s) must succeed exactly once", name)
		}
	}
	if p.hashes != nil {
		t.Error("the set keeps its memory when it is empty")
	}
}

func TestPartedNamesAreBounded(t *testing.T) {
	var p formerMembers
	for i := range maxFormerMembers + 10 {
		p.add(fmt.Sprint(i), 1<<40)
	}
	if len(p.hashes) != maxFormerMembers {
		t.Errorf("the set has %d names; want %d", len(p.hashes), maxFormerMembers)
	}
}

// A dropped name is remembered for 64 responses, and dropped again four times, a collection once.
func TestDoubtsAreBounded(t *testing.T) {
	never := func(string) bool { return false }
	for responses, crossed := range map[int]bool{0: false, 1: true, maxCrossing: true, maxCrossing + 1: false} {
		d := newPendingDrops()
		d.drop("a")
		for range responses {
			d.received(&Response{}, never)
		}
		if got := d.take("a"); got != crossed {
			t.Errorf("after %d responses: crossed = %v, want %v", responses, got, crossed)
		}
	}
	for name, most := range map[string]int{"a": maxAnew, resource.Wildcard: 1} {
		d := newPendingDrops()
		d.taken[name] = 0
		for i := range most {
			if !d.again(name) {
				t.Errorf("%s: not dropped for the time %d", name, i+1)
			}
		}
		if d.again(name) || len(d.taken) != 0 {
			t.Errorf("%s: dropped more than %d times", name, most)
		}
	}
}

// overtakenRig returns the names of a type after a request for the name "a", which was not the first one.
func overtakenRig() *sotwNames {
	s := newSotwNames(clusters, &Config{})
	s.add("first")
	s.send(time.Unix(0, 0))
	s.add("a")
	s.send(time.Unix(0, 0))
	return s
}

func TestOvertakenNamesAreForgottenInTime(t *testing.T) {
	for after, follows := range map[time.Duration]bool{overtakenFor: true, overtakenFor + 1: false} {
		s, now := overtakenRig(), time.Unix(0, 0)
		none := slices.Values([]Resource(nil))
		s.mentioned(&Response{Reject: "bad", Resources: none}, now)
		if !s.overtaken.follow {
			t.Error("the first response: follow = false, want true")
		}
		s.mentioned(&Response{Reject: "bad", Resources: none}, now.Add(after))
		if s.overtaken.follow != follows {
			t.Errorf("%v after the first response: follow = %v, want %v", after, s.overtaken.follow, follows)
		}
	}
	for _, r := range []Resource{
		{Name: "a"},
		{Name: "b", Aliases: []string{"a"}},
		{Name: "a", Verdict: Rejected},
		{Name: "a", Verdict: Removed},
	} {
		s := overtakenRig()
		s.mentioned(&Response{Reject: "bad", Resources: slices.Values([]Resource{r})}, time.Unix(0, 0))
		if s.overtaken.follow || s.overtaken.names != 0 {
			t.Errorf("a response with %+v leaves the name overtaken", r)
		}
	}
}

// A name that is no longer wanted is not overtaken.
func TestOvertakenNamesAreWanted(t *testing.T) {
	s := overtakenRig()
	s.remove("a")
	s.mentioned(&Response{Reject: "bad", Resources: slices.Values([]Resource(nil))}, time.Unix(0, 0))
	if s.overtaken.follow {
		t.Error("follow = true without a wanted name; want false")
	}
}
