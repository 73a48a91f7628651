package authority

import (
	"bytes"
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
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A response in the state of the world has all clusters. It may lack endpoints.
var (
	clusters  = &resource.Descriptor{Name: "test.Cluster", Complete: true, Decode: decode, NewShard: newShard}
	endpoints = &resource.Descriptor{Name: "test.Endpoint", Decode: decode, NewShard: newShard}
)

type update struct{ resource.Meta }

// Equal compares as a generated update does. An update with the body "self" depends on its server.
func (u *update) Equal(o *update) bool {
	same := bytes.Equal(u.Raw(), o.Raw())
	return same && (string(u.Raw()) != "self" || u.Server().Equal(o.Server()))
}

func decode(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
	return &update{dc.Meta(body)}, nil
}

func newShard() resource.Shard { return runtime.NewShard[*update]() }

// TestScripts runs the exchanges in testdata. Each file documents some rules. "go test -run TestScripts
// -rewrite" writes the effects.
//
// A scenario is a subtest. It starts with a client. The lines before "----" are events, and the effects
// of each event follow. Names that the machine handles in no particular order are sorted. Changes for a
// server's stream start with the server. Events:
//
//	client [fail_on_data_errors] [SERVER | SERVER=(FEATURE, ...)]...
//	                                a new client; without servers, it has one that is called "server"
//	watch TYPE NAME [by=WATCHER]    a watcher is called like the name by default
//	cancel TYPE NAME [by=WATCHER]   the end of a watch
//	requested TYPE NAME...          the server's stream has sent a request with the names
//	response TYPE [version=V]       with "NAME=CONTENT", "NAME=(CONTENT, ttl DURATION, alias NAME)",
//	                                "NAME=(invalid, REASON)", "NAME=removed", "NAME=(error, CODE)",
//	                                "NAME=(heartbeat, ttl DURATION)" or "NAME=(unchanged, SERVER)" for each resource,
//	                                and "partial" if other resources may exist
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
			for _, line := range strings.Split(d.Input, "\n") {
				r.event(r.parse(line))
			}
			return r.output.String()
		})
	})
}

// A rig runs one machine with a clock of its own. All tests of this package use the machine through it.
type rig struct {
	t   *testing.T
	pos string // in a script
	m   *Machine
	now time.Time

	watchers map[string]*watcher
	handles  map[string]Handle     // by type and watched name
	sent     map[string]*Unchanged // the last update of each resource and server

	prefix string // of lines of the output
	output strings.Builder
}

// newRig returns a rig with one server.
func newRig(t *testing.T, features ...string) *rig {
	t.Helper()
	return newRigOf(t, newServer(t, "server", features...))
}

func newRigOf(t *testing.T, servers ...*bootstrap.Server) *rig {
	t.Helper()
	types, err := resource.NewSet(clusters, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		t: t, m: New(Config{Types: types, Servers: servers, NodeID: "node-1"}), now: time.Unix(0, 0),
		watchers: make(map[string]*watcher), handles: make(map[string]Handle), sent: make(map[string]*Unchanged),
	}
}

func newServer(t testing.TB, uri string, features ...string) *bootstrap.Server {
	t.Helper()
	quoted := make([]string, len(features))
	for i, f := range features {
		quoted[i] = strconv.Quote(f)
	}
	server, err := bootstrap.ParseServer([]byte(`{"server_uri": "` + uri + `", "channel_creds": [{"type": "insecure"}],
		"server_features": [` + strings.Join(quoted, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func name(t testing.TB, s string) xdstp.Name {
	t.Helper()
	n, err := xdstp.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A watcher of a resource or a collection. The script prints its notifications.
type watcher struct {
	label string
	// Tests in Go read the newest state, and how many there were.
	state resource.State
	calls int
}

// Notify implements [Watcher].
func (w *watcher) Notify(s resource.State) {
	w.state = s
	w.calls++
}

// A gatherer is a watcher of a collection.
type gatherer struct{ *watcher }

// NotifyMember implements [CollectionWatcher].
func (gatherer) NotifyMember(xdstp.Name, resource.State) {}

// A scriptError is like others of its kind, whatever the text is.
type scriptError struct{ kind, text string }

func (e scriptError) Error() string {
	if e.text == "" {
		return e.kind
	}
	return e.kind + ": " + e.text
}

func (e scriptError) Is(target error) bool {
	other, ok := target.(scriptError)
	return ok && other.kind == e.kind
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
}

// options splits the arguments of an event into options and the rest.
func options(args []datadriven.CmdArg) (values map[string]string, rest []datadriven.CmdArg) {
	values = make(map[string]string)
	for _, a := range args {
		switch a.Key {
		case "server", "by", "version", "since", "partial":
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
	r.handle(func() { handle = r.m.Watch(typeNamed(typ), n, machineWatcher, r.now) })
	r.handles[typ+" "+target] = handle
}

// respond handles a response of a server.
func (r *rig) respond(server int, args []datadriven.CmdArg, opts map[string]string) {
	r.t.Helper()
	ev := &Response{Server: server, Type: typeNamed(args[0].Key), Version: opts["version"]}
	_, ev.Partial = opts["partial"]
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
	for start, end := 0, 0; start < len(ready.Changes); start = end {
		first := ready.Changes[start]
		for end = start; end < len(ready.Changes) && ready.Changes[end].Server == first.Server && ready.Changes[end].Op == first.Op; {
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
	}
	r.printResources("unused", ready.Unused)
	r.printResources("unanswered", ready.Unanswered)
	var members, others []string
	for _, n := range ready.Notices {
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
	r.checkCounts()
}

func (r *rig) uri(server int) string { return r.m.config.Servers[server].URI() }

func (r *rig) printResources(kind string, list []Resource) {
	var lines []string
	for _, x := range list {
		lines = append(lines, fmt.Sprintf("%s %s %s of %s", kind, short(x.Type), x.Name, r.uri(x.Server)))
	}
	r.printSorted(lines)
}

func (r *rig) printSorted(lines []string) {
	slices.Sort(lines)
	for _, line := range lines {
		r.printf("%s", line)
	}
}

// labelOf returns the label of a watcher and the watched name.
func labelOf(w Watcher) (label, target string) {
	if g, ok := w.(gatherer); ok {
		w = g.watcher
	}
	label = w.(*watcher).label
	target, _, _ = strings.Cut(label, " ")
	return label, target
}

func (r *rig) printf(format string, args ...any) {
	if r.output.Len() < 1<<16 { // of tests with many names, nobody reads it
		fmt.Fprintf(&r.output, r.prefix+format+"\n", args...)
	}
}

// stateText prints what a watcher of a name is notified of.
func (r *rig) stateText(s resource.State, watched xdstp.Name) string {
	var parts []string
	if s.Update != nil {
		text := "content " + string(s.Update.Raw())
		if s.Update.Name() != watched {
			text += " of " + s.Update.Name().String()
		}
		parts = append(parts, text)
	} else if s.Origin != resource.OriginNone {
		parts = append(parts, "complete")
	}
	if s.Origin == resource.OriginFallback {
		parts = append(parts, "from a fallback server")
	}
	if s.Err != nil {
		parts = append(parts, r.errorText(s.Err))
	}
	if len(parts) == 0 {
		return "nothing known"
	}
	return strings.Join(parts, ", ")
}

// errorText prints the kind of an error. Of a rejection and of an outage, it also prints the cause, which is from
// the script, and of an outage the server.
func (r *rig) errorText(err error) string {
	r.t.Helper()
	var e *resource.Error
	if !errors.As(err, &e) {
		r.t.Fatalf("%serror %v is no resource.Error", r.pos, err)
	}
	switch e.Kind { //nolint:errorlint // the kind itself
	case resource.ErrNotFound:
		return "does not exist"
	case resource.ErrRemoved:
		return "removed"
	case resource.ErrTimeout:
		return "timeout"
	case resource.ErrDenied:
		return "denied"
	case resource.ErrUnavailable:
		return "unavailable"
	case resource.ErrInvalid:
		return "invalid: " + e.Err.Error()
	case resource.ErrTransport:
		return fmt.Sprintf("unreachable: %s: %v", e.Server, e.Err)
	}
	return err.Error()
}

// printState prints all records, and the resources in the cache.
func (r *rig) printState() {
	var lines []string
	for e := range r.m.Entries() {
		line := fmt.Sprintf("%s %s: %s", short(e.Type), e.Name, e.State)
		if e.Update != nil {
			line += " content " + string(e.Update.Raw()) + " of " + e.Update.Server().URI()
		}
		if e.Version != "" {
			line += " version " + e.Version
		}
		lines = append(lines, line)
	}
	for _, t := range []*resource.Descriptor{clusters, endpoints} {
		for u := range r.m.Shard(r.m.config.Types.Index(t)).All() {
			lines = append(lines, fmt.Sprintf("%s cache %s: content %s of %s", short(t), u.Name(), u.Raw(), u.Server().URI()))
		}
	}
	if i, ok := r.m.Active(); ok && len(r.m.config.Servers) > 1 {
		lines = append(lines, "active "+r.uri(i))
	}
	r.printSorted(lines)
}

func short(t *resource.Descriptor) string {
	return map[*resource.Descriptor]string{clusters: "cluster", endpoints: "endpoint"}[t]
}
