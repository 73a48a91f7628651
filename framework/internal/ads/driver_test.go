package ads

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/xdsforge/xdsforge/framework/resource"
)

var (
	clusters  = &resource.Descriptor{Name: "envoy.config.cluster.v3.Cluster", Complete: true}
	endpoints = &resource.Descriptor{Name: "envoy.config.endpoint.v3.ClusterLoadAssignment"}
)

// TestScripts runs the exchanges in testdata. Each file documents some rules. "go test -run TestScripts
// -rewrite" writes the effects.
//
// A scenario is a subtest. It starts with a client, and goes on with batches of events. A batch is one
// iteration of the client's loop: its events are the lines before "----", and the effects of all of
// them follow. The network opens streams and takes requests at once. Events:
//
//	client [delta|auto]               a new client, for the state of the world by default
//	subscribe TYPE NAME...            unsubscribe, forget, repeat and answered likewise
//	renew, release                    the server is no longer in use
//	response TYPE version=V nonce=N   with "NAME", "NAME=VERSION", "NAME=(VERSION, heartbeat, alias NAME)",
//	                                  "NAME=invalid", "NAME=error" or "NAME=removed" for each resource, "nack=REASON"
//	                                  for other reasons, and "content=N", a number of the rejected content
//	closed [ERROR]                    the stream ended; the error "unimplemented" means an unknown method
//	stall, unstall                    the network opens no stream and takes no request in between
//	deliver                           the stalled network takes the last request
//	wait DURATION                     effects in this time start with "after"
//	deadline, status                  print the state after the batch
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var r *rig
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "client" {
				r = newRig(t)
			}
			if r == nil || r.t.Name() != t.Name() {
				t.Fatalf("%s: each scenario starts with a client", d.Pos)
			}
			r.pos = d.Pos + ": "
			r.batch(append([]event{{d.Cmd, d.CmdArgs}}, r.parse(strings.Split(d.Input, "\n"))...))
			return r.output.String()
		})
	})
}

// A rig runs one machine with a clock and a network of its own. All tests of this package
// use the machine through it.
type rig struct {
	t   *testing.T
	pos string // in a script
	m   *Machine
	now time.Time

	stalled bool     // the network opens no stream and takes no request
	pending []func() // the answers of a stalled network
	onSend  func(Request)

	prefix string          // of lines of the output
	output strings.Builder // the effects of the last batch
	sends  []Request       // of the last batch
}

// newRig returns a rig for a state-of-the-world machine.
func newRig(t *testing.T) *rig { return newRigOf(t, StateOfTheWorld) }

func newRigOf(t *testing.T, protocol Protocol) *rig {
	return &rig{t: t, m: New(Config{Protocol: protocol, Random: func() float64 { return 0.5 }}), now: time.Unix(0, 0)}
}

// An event is one line of a script.
type event struct {
	verb string
	args []datadriven.CmdArg
}

func (r *rig) parse(lines []string) (events []event) {
	r.t.Helper()
	for _, line := range lines {
		verb, args, err := datadriven.ParseLine(line)
		if err != nil {
			r.t.Fatalf("%s%v", r.pos, err)
		}
		events = append(events, event{verb, args})
	}
	return events
}

// run handles a batch of events, given as lines of a script, and returns the requests that the
// machine then sends.
func (r *rig) run(lines ...string) []Request {
	r.t.Helper()
	r.batch(r.parse(lines))
	return r.sends
}

// one is run for batches that lead to exactly one request.
func (r *rig) one(lines ...string) Request {
	r.t.Helper()
	if sends := r.run(lines...); len(sends) != 1 {
		r.t.Fatalf("%q: %d requests, want 1", lines, len(sends))
	}
	return r.sends[0]
}

// batch handles events like one iteration of the client's loop.
func (r *rig) batch(events []event) {
	r.t.Helper()
	r.output.Reset()
	r.sends = nil
	for _, ev := range events {
		r.event(ev.verb, ev.args)
	}
	r.turn()
	for _, ev := range events {
		switch ev.verb {
		case "deadline":
			r.printDeadline()
		case "status":
			isOpen, isOpening, retryAt := r.m.Status()
			r.printf("open=%v opening=%v retry=%v", isOpen, isOpening, !retryAt.IsZero())
		}
	}
}

func (r *rig) printDeadline() {
	if at, ok := r.m.NextDeadline(); ok {
		r.printf("deadline in %v", at.Sub(r.now))
	} else {
		r.printf("no deadline")
	}
}

func (r *rig) event(verb string, args []datadriven.CmdArg) {
	r.t.Helper()
	switch verb {
	case "":
	case "client":
		for _, a := range args {
			r.m = newRigOf(r.t, map[string]Protocol{"delta": Delta, "auto": Auto}[a.Key]).m
		}
	case "subscribe", "unsubscribe", "forget", "repeat", "answered":
		for _, a := range args[1:] {
			r.change(Change{Op: ops[verb], Type: typeNamed(args[0].Key), Name: a.Key})
		}
	case "renew":
		r.change(Change{Op: Renew})
	case "release":
		r.change(Change{Op: Release})
	case "too-large": // the last request
		r.handle(func() { r.printf("changes=%v", r.m.PreferDelta()) })
	case "response":
		r.respond(args)
	case "closed":
		r.pending = nil
		r.closed(args)
	case "stall":
		r.stalled = true
	case "unstall":
		r.stalled = false
	case "deliver":
		r.deliver()
	case "wait":
		r.wait(args[0].Key)
	case "deadline", "status": // printed after the batch
	default:
		r.t.Fatalf("%sunknown event %s", r.pos, verb)
	}
}

func typeNamed(name string) *resource.Descriptor {
	return map[string]*resource.Descriptor{"cluster": clusters, "endpoint": endpoints}[name]
}

var ops = map[string]Op{"subscribe": Subscribe, "unsubscribe": Unsubscribe, "forget": Forget, "repeat": Repeat, "answered": Answered}

func (r *rig) change(c Change) { r.handle(func() { r.m.Change(c, r.now) }) }

// closed ends the stream, with the words after it as the error.
func (r *rig) closed(args []datadriven.CmdArg) {
	var words []string
	for _, a := range args {
		words = append(words, a.Key)
	}
	var err error
	if len(words) > 0 {
		err = errors.New(strings.Join(words, " "))
	}
	r.handle(func() { r.m.Closed(err, slices.Contains(words, "unimplemented"), r.now) })
}

// respond handles a response. It prints whether the machine reads its resources in state of the world.
func (r *rig) respond(args []datadriven.CmdArg) {
	r.t.Helper()
	resp := &Response{Type: typeNamed(args[0].Key)}
	var bad []string
	var resources []Resource
	for _, a := range args[1:] {
		switch value := strings.Join(a.Vals, ", "); {
		case a.Key == "version":
			resp.Version = value
		case a.Key == "nonce":
			resp.Nonce = value
		case a.Key == "nack":
			resp.Reject = value
		case a.Key == "content":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				r.t.Fatal(err)
			}
			resp.Digest, resp.Bad = n, []uint64{n}
		case value == "removed":
			resources = append(resources, Resource{Name: a.Key, Verdict: Removed})
		case value == "invalid", value == "error":
			resources = append(resources, Resource{Name: a.Key, Verdict: Rejected})
			if value == "invalid" {
				bad = append(bad, a.Key+": invalid")
			}
		default:
			resources = append(resources, acceptedBy(a))
		}
	}
	resp.Reject = cmp.Or(resp.Reject, strings.Join(bad, ", "))
	read := false
	resp.Resources = func(yield func(Resource) bool) {
		if !read && !r.m.Delta() {
			r.printf("needs names %s", short(resp.Type))
		}
		read = true
		slices.Values(resources)(yield)
	}
	r.handle(func() { r.m.Received(resp, r.now) })
}

// acceptedBy is a valid resource: its version, or (version, heartbeat, alias X).
func acceptedBy(arg datadriven.CmdArg) Resource {
	a := Resource{Name: arg.Key}
	for i, v := range arg.Vals {
		alias, isAlias := strings.CutPrefix(v, "alias ")
		switch {
		case i == 0:
			a.Version = v
		case isAlias:
			a.Aliases = append(a.Aliases, alias)
		default:
			a.Heartbeat = v == "heartbeat"
		}
	}
	return a
}

// wait lets time pass. The machine gets a turn at each of its deadlines and at the end.
func (r *rig) wait(text string) {
	r.t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		r.t.Fatalf("%s%v", r.pos, err)
	}
	start := r.now
	for range 10_000 {
		at, ok := r.m.NextDeadline()
		if !ok || at.After(start.Add(d)) {
			r.now, r.prefix = start.Add(d), fmt.Sprintf("after %v: ", d)
			r.turn()
			r.prefix = ""
			return
		}
		if at.Before(r.now) {
			at = r.now // it is late already
		}
		r.now, r.prefix = at, fmt.Sprintf("after %v: ", at.Sub(start))
		r.turn()
		if next, ok := r.m.NextDeadline(); ok && !next.After(at) {
			r.t.Fatalf("%sthe machine did nothing at its deadline, after %v", r.pos, at.Sub(start))
		}
	}
	r.t.Fatalf("%sthe machine has a deadline all the time", r.pos)
}

// turn ends a batch. Unless it is stalled, the network opens streams and takes requests at once.
func (r *rig) turn() {
	r.t.Helper()
	for range 10_000 {
		r.handle(func() { r.m.Tick(r.now) })
		if r.stalled || len(r.pending) == 0 {
			return
		}
		r.deliver()
	}
	r.t.Fatalf("%sthe machine does not stop sending", r.pos)
}

// deliver lets the network do the requested actions.
func (r *rig) deliver() {
	pending := r.pending
	r.pending = nil
	for _, report := range pending {
		r.handle(report)
	}
}

// handle reports an event to the machine, and prints the effects.
func (r *rig) handle(report func()) {
	report()
	e := r.m.Ready()
	if e.StreamEnded {
		r.printf("stream ended%s", map[bool]string{true: fmt.Sprintf(": %v", e.Err)}[e.Err != nil])
	}
	if e.Idle {
		r.pending = nil
		r.printf("idle%s", map[bool]string{true: " released"}[e.Released])
	}
	if len(e.Requested.Names) > 0 {
		r.printf("start timers %s names=%v", short(e.Requested.Type), sorted(e.Requested.Names))
	}
	if e.Healthy {
		r.printf("healthy")
	}
	for _, s := range e.Stale {
		r.printf("stale %s names=%v", short(s.Type), s.Names)
	}
	if e.Open {
		r.printf("open %s", map[bool]string{false: "state-of-the-world", true: "delta"}[r.m.Delta()])
		r.pending = []func(){func() { r.m.Opened(r.now) }}
	}
	if e.Send != nil {
		r.sends = append(r.sends, *e.Send)
		r.printf("send %s", request(e.Send))
		r.pending = append(r.pending, r.m.Written)
		if r.onSend != nil {
			r.onSend(*e.Send)
		}
	}
}

func (r *rig) printf(format string, args ...any) {
	if r.output.Len() < 1<<16 { // of tests with many names, nobody reads it
		fmt.Fprintf(&r.output, r.prefix+format+"\n", args...)
	}
}

// request prints the fields of a request that are set.
func request(s *Request) string {
	b := new(strings.Builder)
	b.WriteString(short(s.Type))
	field := func(isSet bool, format string, value any) {
		if isSet {
			fmt.Fprintf(b, " "+format, value)
		}
	}
	field(!s.Delta, "names=%v", sorted(s.Names))
	field(s.Version != "", "version=%s", s.Version)
	field(len(s.Subscribe) > 0, "subscribe=%v", sorted(s.Subscribe))
	field(len(s.Unsubscribe) > 0, "unsubscribe=%v", sorted(s.Unsubscribe))
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
		versions = append(versions, name+"="+s.Versions[name])
	}
	field(len(versions) > 0, "held=%v", versions)
	field(s.Nonce != "", "nonce=%s", s.Nonce)
	field(s.Reject != "", "nack=%q", s.Reject)
	field(s.Repeats > 0, "repeats=%d", s.Repeats)
	field(s.Quiet, "%s", "quiet")
	field(s.Repeated > 0, "again=%d", s.Repeated)
	field(s.First, "%s", "node")
	return b.String()
}

func short(t *resource.Descriptor) string {
	return map[*resource.Descriptor]string{clusters: "cluster", endpoints: "endpoint"}[t]
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
