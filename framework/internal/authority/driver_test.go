package authority

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestScripts runs the exchanges in testdata. Each file documents some rules. "go test -run TestScripts
// -rewrite" writes the effects.
//
// A scenario is a subtest. It starts with a client. The lines before "----" are events, and the effects
// of each event follow. Names that the machine handles in no particular order are sorted. Changes for a
// server's stream start with the server. Events:
//
//	client [fail_on_data_errors] [SERVER | SERVER=(FEATURE, ...)]...
//	                                a new client; without servers, it has one that is called "server"; a last one
//	                                that is called "store" is a last known good store
//	watch TYPE NAME [by=WATCHER]    a watcher is called like the name by default
//	cancel TYPE NAME [by=WATCHER]   the end of a watch
//	requested TYPE NAME...          the server's stream has sent a request with the names
//	response TYPE [version=V]       with "NAME=CONTENT", "NAME=(CONTENT, ttl DURATION, alias NAME)",
//	                                "NAME=(invalid, REASON)", "NAME=removed", "NAME=(error, CODE)",
//	                                "NAME=(heartbeat, ttl DURATION)" or "NAME=(unchanged, SERVER)" for each resource,
//	                                and "partial" if other resources may exist; or "elsewhere" alone if all resources
//	                                belong to other authorities
//	stale TYPE NAME...              the server no longer has the resources
//	ended [ERROR]                   the server's stream ended; without an error, it had a response
//	healthy, idle                   the server is reachable; the client has no subscriptions there
//	pause [since=DURATION]          a response arrived so long ago, and the client reads it; resume ends this
//	wait DURATION                   effects in this time start with "after"
//	deadline                        prints when the machine has something to do
//	state [TYPE]                    prints the records and the cache
//
// Events of servers are those of the first one, or of server=NAME. Errors are "KIND: TEXT".
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var r *rig
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "client" {
				r = newRigOf(t)
			}
			if r == nil || r.t.Name() != t.Name() {
				t.Fatalf("%s: each scenario starts with a client", d.Pos)
			}
			r.pos = d.Pos + ": "
			r.output.Reset()
			r.event(event{d.Cmd, d.CmdArgs})
			for line := range strings.SplitSeq(d.Input, "\n") {
				r.event(r.parse(line))
			}
			return r.output.String()
		})
	})
}

// An event is one line of a script.
type event struct {
	verb string
	args []datadriven.CmdArg
}

func (r *rig) parse(line string) event {
	r.t.Helper()
	verb, args, err := datadriven.ParseLine(line)
	if err != nil {
		r.t.Fatalf("%s%v", r.pos, err)
	}
	return event{verb, args}
}

// run handles events, given as lines of a script, and returns their effects as a script prints them.
func (r *rig) run(lines ...string) string {
	r.t.Helper()
	r.output.Reset()
	for _, line := range lines {
		r.event(r.parse(line))
	}
	return r.output.String()
}

// expect is run with a check of the effects.
func (r *rig) expect(want string, lines ...string) {
	r.t.Helper()
	if got := r.run(lines...); strings.TrimSpace(got) != want {
		r.t.Errorf("%q: effects\n%s\nwant\n%s", lines, got, want)
	}
}

// client makes the machine anew, with the given servers.
func (r *rig) client(args []datadriven.CmdArg) {
	r.t.Helper()
	var servers []*bootstrap.Server
	strict := false
	for _, a := range args {
		if a.Key == "fail_on_data_errors" {
			strict = true
		} else {
			servers = append(servers, newServer(r.t, a.Key, a.Vals...))
		}
	}
	if len(servers) == 0 {
		servers = append(servers, newServer(r.t, "server"))
	}
	r.m = newRigOf(r.t, servers...).m
	r.m.config.FailOnDataErrors = strict
	r.m.config.Store = servers[len(servers)-1].URI() == "store"
}

// options splits the arguments of an event into options and the rest.
func options(args []datadriven.CmdArg) (values map[string]string, rest []datadriven.CmdArg) {
	values = make(map[string]string)
	for _, a := range args {
		switch a.Key {
		case "server", "by", "version", "since", "partial", "elsewhere":
			values[a.Key] = strings.Join(a.Vals, ", ")
		default:
			rest = append(rest, a)
		}
	}
	return values, rest
}

func keys(args []datadriven.CmdArg) (keys []string) {
	for _, a := range args {
		keys = append(keys, a.Key)
	}
	return keys
}

func (r *rig) duration(s string) time.Duration {
	r.t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		r.t.Fatalf("%s%v", r.pos, err)
	}
	return d
}

// server returns the position of the server with a name, or of the first one.
func (r *rig) server(uri string) int {
	return max(slices.IndexFunc(r.m.config.Servers, func(s *bootstrap.Server) bool { return s.URI() == uri }), 0)
}

func (r *rig) event(ev event) {
	r.t.Helper()
	opts, args := options(ev.args)
	server := r.server(opts["server"])
	switch ev.verb {
	case "":
	case "client":
		r.client(ev.args)
	case "watch", "cancel":
		r.watch(ev.verb, args[0].Key, args[1].Key, opts["by"])
	case "requested":
		names := ads.Names{Type: typeNamed(args[0].Key), Names: keys(args[1:])}
		r.handle(func() { r.m.Requested(server, names, r.now) })
	case "response":
		r.respond(server, args, opts)
	case "stale":
		names := ads.Names{Type: typeNamed(args[0].Key), Names: keys(args[1:])}
		r.handle(func() { r.m.Stale(server, names, r.now) })
	case "ended":
		var err error
		if len(args) > 0 {
			kind, text, _ := strings.Cut(strings.Join(keys(args), " "), ": ")
			err = scriptError{kind, text}
		}
		r.handle(func() { r.m.StreamEnded(server, err, r.now) })
	case "healthy":
		r.handle(func() { r.m.Healthy(server, r.now) })
	case "idle":
		r.handle(func() { r.m.Idle(server) })
	case "pause":
		since := r.now
		if opts["since"] != "" {
			since = since.Add(-r.duration(opts["since"]))
		}
		r.handle(func() { r.m.Pause(server, since) })
	case "resume":
		r.handle(func() { r.m.Resume(server, r.now) })
	case "wait":
		r.wait(r.duration(args[0].Key))
	case "deadline":
		if at, ok := r.m.NextDeadline(); ok {
			r.printf("deadline in %v", at.Sub(r.now))
		} else {
			r.printf("no deadline")
		}
	case "state":
		r.printState()
	default:
		r.t.Fatalf("%sunknown event %s", r.pos, ev.verb)
	}
}

func typeNamed(name string) *resource.Descriptor {
	return map[string]*resource.Descriptor{"cluster": clusters, "endpoint": endpoints}[name]
}

// watch starts or ends a watch.
func (r *rig) watch(verb, typ, target, by string) {
	r.t.Helper()
	label := target
	if by != "" {
		label += " (" + by + ")"
	}
	w, n := r.watchers[typ+" "+label], name(r.t, target)
	if w == nil {
		w = &watcher{label: label}
		r.watchers[typ+" "+label] = w
	}
	machineWatcher := Watcher(w)
	if n.IsGlob() || n.String() == resource.Wildcard {
		machineWatcher = gatherer{w}
	}
	handle := r.handles[typ+" "+target]
	if verb == "cancel" {
		r.handle(func() { r.m.Cancel(handle, machineWatcher, r.now) })
		return
	}
	r.handle(func() { handle = r.m.Watch(r.m.Handle(typeNamed(typ), n), machineWatcher, r.now) })
	r.handles[typ+" "+target] = handle
}

// respond handles a response of a server.
func (r *rig) respond(server int, args []datadriven.CmdArg, opts map[string]string) {
	r.t.Helper()
	ev := &Response{Server: server, Type: typeNamed(args[0].Key), Version: opts["version"]}
	_, ev.Partial = opts["partial"]
	_, ev.Elsewhere = opts["elsewhere"]
	var keys []string
	for _, a := range args[1:] {
		key := fmt.Sprint(server, args[0].Key, a.Key)
		if a.Vals[0] == "unchanged" {
			if len(a.Vals) > 1 {
				key = fmt.Sprint(r.server(a.Vals[1]), args[0].Key, a.Key)
			}
			if r.sent[key] == nil {
				r.t.Fatalf("%sthe server has not sent %s", r.pos, a.Key)
			}
			ev.Unchanged = append(ev.Unchanged, *r.sent[key])
			continue
		}
		ev.Results = append(ev.Results, r.result(server, a, key, opts["version"]))
		keys = append(keys, key)
	}
	r.handle(func() { r.m.Received(ev, r.now) })
	for i, res := range ev.Results {
		if res.Update != nil {
			r.sent[keys[i]] = &Unchanged{Update: res.Update, Record: res.Record}
		}
	}
}

// result is one resource of a response. The same content of the same server is the same update.
func (r *rig) result(server int, arg datadriven.CmdArg, key, version string) Result {
	r.t.Helper()
	res := Result{Name: name(r.t, arg.Key), Version: version}
	for _, v := range arg.Vals[1:] {
		what, value, _ := strings.Cut(v, " ")
		switch what {
		case "ttl":
			res.TTL = r.duration(value)
		case "alias":
			res.Aliases = append(res.Aliases, name(r.t, value))
		}
	}
	switch content := arg.Vals[0]; content {
	case "removed":
		res.Removed = true
	case "heartbeat":
		res.Heartbeat = true
	case "invalid":
		res.Err = errors.New(strings.Join(append(arg.Vals[1:], "bad")[:1], ""))
	case "error":
		code, err := strconv.ParseInt(arg.Vals[1], 10, 32)
		if err != nil {
			r.t.Fatalf("%s%v", r.pos, err)
		}
		res.Error = &ServerError{Code: int32(code), Message: "because"}
	default:
		if u := r.sent[key]; u != nil && string(u.Update.Raw()) == content {
			res.Update = u.Update
		} else {
			res.Update = r.update(server, arg.Key, content)
		}
	}
	return res
}

// update returns a new update of a server.
func (r *rig) update(server int, target, content string) resource.Update {
	r.t.Helper()
	dc := resource.DecodeContext{Name: name(r.t, target), Server: r.m.config.Servers[server]}
	u, _ := decode(&dc, []byte(content))
	return u
}

// wait lets time pass. The machine gets a Tick at each of its deadlines and at the end.
func (r *rig) wait(d time.Duration) {
	r.t.Helper()
	defer func() { r.prefix = "" }()
	start := r.now
	for range 10_000 {
		at, ok := r.m.NextDeadline()
		if !ok || at.After(start.Add(d)) {
			r.now, r.prefix = start.Add(d), fmt.Sprintf("after %v: ", d)
			r.handle(func() { r.m.Tick(r.now) })
			return
		}
		r.now, r.prefix = at, fmt.Sprintf("after %v: ", at.Sub(start))
		r.handle(func() { r.m.Tick(r.now) })
		if next, ok := r.m.NextDeadline(); ok && !next.After(at) {
			r.t.Fatalf("%sthe machine did nothing at its deadline, after %v", r.pos, at.Sub(start))
		}
	}
	r.t.Fatalf("%sthe machine has a deadline all the time", r.pos)
}

var ops = map[ads.Op]string{
	ads.Subscribe: "subscribe", ads.Unsubscribe: "unsubscribe", ads.Forget: "forget", ads.Repeat: "repeat",
	ads.Answered: "answered", ads.Renew: "renew", ads.Release: "release",
}

// handle reports an event to the machine, prints the effects, and checks the counts. Its order of names is often
// that of a map, so names of equal changes in a row are sorted, and so are all other effects of a kind.
func (r *rig) handle(report func()) {
	r.t.Helper()
	report()
	ready := r.m.Ready()
	for start := 0; start < len(ready.Changes); {
		first, end := ready.Changes[start], start
		for end < len(ready.Changes) && ready.Changes[end].Server == first.Server && ready.Changes[end].Op == first.Op {
			end++
		}
		var lines []string
		for _, c := range ready.Changes[start:end] {
			line := r.uri(c.Server) + ": " + ops[c.Op]
			if c.Type != nil {
				line += " " + short(c.Type) + " " + c.Name
			}
			lines = append(lines, line)
		}
		r.printSorted(lines)
		start = end
	}
	r.printResources("unused", ready.Unused)
	r.printResources("unanswered", slices.DeleteFunc(ready.TimedOut, func(u Resource) bool {
		return !u.Name.IsGlob() && u.Name.String() != resource.Wildcard && !u.Name.IsCollection()
	}))
	r.printResources("missing", ready.Missing)
	r.printStored(ready.Stored)
	var members, others []string
	for i, n := range ready.Notices {
		r.checkMembersFirst(n, ready.Notices[i+1:])
		n.Deliver()
		label, watched := labelOf(n.Watcher)
		if n.Member.IsZero() {
			others = append(others, fmt.Sprintf("notify %s: %s", label, r.stateText(n.State, name(r.t, watched))))
		} else {
			members = append(members, fmt.Sprintf("member %s of %s: %s", n.Member, label, r.stateText(n.State, n.Member)))
		}
	}
	r.printSorted(members)
	r.printSorted(others)
	if r.m.watched < 100 { // tests with more names check the counts themselves
		r.checkCounts()
	}
}

// checkMembersFirst checks that the members come before the notice that makes a collection complete.
func (r *rig) checkMembersFirst(n Notice, later []Notice) {
	r.t.Helper()
	g, ok := n.Watcher.(gatherer)
	if !ok || !n.Member.IsZero() || n.State.Origin == resource.OriginNone || g.state.Origin != resource.OriginNone {
		return
	}
	if slices.ContainsFunc(later, func(l Notice) bool { return l.Watcher == n.Watcher && !l.Member.IsZero() }) {
		r.t.Errorf("%scollection %s is complete before its members are notified", r.pos, g.label)
	}
}
