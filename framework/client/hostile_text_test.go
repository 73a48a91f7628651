package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// hostile is text that forges log lines, changes terminals, turns lines around and fills
// disks. With unreadable, it is no UTF-8 either.
var (
	hostile    = "evil\nlevel=ERROR\r\x1b[2J\x00\u202e\u2028" + strings.Repeat("x\n", 5<<20)
	unreadable = "\xff\xfe" + hostile
	shortName  = "evil\nlevel=ERROR\r\x1b[2J\x00\u202e\u2028"
)

// longest is the most bytes that a log line's part or an error may have.
const longest = 10 << 10

// unprintable describes the fault of a text that is unfit for logs and errors.
func unprintable(s string) string {
	switch {
	case len(s) > longest:
		return fmt.Sprintf("has %d bytes: %.200q", len(s), s)
	case !utf8.ValidString(s):
		return fmt.Sprintf("is not UTF-8: %.200q", s)
	case strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }):
		return fmt.Sprintf("has characters that are not printable: %.200q", s)
	}
	return ""
}

// A logCheck is a handler that judges each part of each record.
type logCheck struct {
	mu    sync.Mutex
	bad   []string
	lines []string
}

func (*logCheck) Enabled(context.Context, slog.Level) bool { return true }
func (h *logCheck) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h *logCheck) WithGroup(string) slog.Handler          { return h }

func (h *logCheck) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.Key + "=" + a.Value.String()
		if what := unprintable(a.Value.String()); what != "" {
			h.bad = append(h.bad, r.Message+": "+a.Key+" "+what)
		}
		return true
	})
	h.lines = append(h.lines, line)
	return nil
}

// take returns the lines since the last call, and their faults.
func (h *logCheck) take() (lines, bad []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines, bad = h.lines, h.bad
	h.lines, h.bad = nil, nil
	return lines, bad
}

// texts are a type whose decoder quotes the resource in all ways that decoders do.
var texts = &resource.Descriptor{
	Name: "test.Text", NewShard: newShard, Complete: true,
	PeekName: func(b []byte) (string, error) {
		name, _, _ := strings.Cut(string(b), "|")
		if name == "unreadable" {
			return "", errors.New(unreadable)
		}
		return name, nil
	},
	Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
		_, tag, _ := strings.Cut(string(body), "|")
		var v resource.Violations
		p := (*resource.Path)(nil).Field("field")
		switch tag {
		case "panic":
			panic(unreadable)
		case "error":
			return nil, errors.New(unreadable)
		case "value":
			v.Add(p, unreadable, "must be kind")
		case "other value":
			v.Add(p, []byte(unreadable), "must be kind")
			v.Add(p, errors.New(unreadable), "must be kind")
		case "rule":
			v.Add(p, 1, "must not be "+unreadable)
		case "hook":
			v.AddError(p, errors.New(unreadable))
		case "key":
			v.Add(p.Field(unreadable), 1, "must be kind")
			v.AddError(p, &resource.ValidationError{Violations: []resource.Violation{{Path: unreadable, Value: unreadable, Rule: unreadable}}})
		}
		if err := v.Err(); err != nil {
			return nil, err
		}
		return &update{dc.Meta(slices.Clone(body)), tag}, nil
	},
}

// Text from a control plane is printable and clipped wherever it reaches logs or errors.
func TestHostileText(t *testing.T) {
	body := func(name, tag string) *anypb.Any {
		return &anypb.Any{TypeUrl: texts.URL(), Value: []byte(name + "|" + tag)}
	}
	rejected := func(tag string) func(*memoryads.Server) { return injects(body("a", tag)) }
	refused := func(code int32) func(*memoryads.Server) {
		return func(s *memoryads.Server) {
			inject(s, &discoveryv3.DiscoveryResponse{TypeUrl: texts.URL(), Nonce: "1", ResourceErrors: []*discoveryv3.ResourceError{
				{ResourceName: &discoveryv3.ResourceName{Name: "a"}, ErrorDetail: &rpcstatus.Status{Code: code, Message: hostile}},
			}})
		}
	}
	for what, attack := range map[string]struct {
		do     func(*memoryads.Server)
		logged string // a part of a log line; empty: no line is needed
		told   bool   // whether the watcher is
	}{
		"the status of a stream":         {func(s *memoryads.Server) { s.Disconnect(errors.New(unreadable)) }, "stream ended", false},
		"the status of a refused stream": {func(s *memoryads.Server) { s.Refuse(errors.New(unreadable)); s.Disconnect(nil) }, "control plane unreachable", true},
		"an error of a resource":         {refused(14), "", true},
		"a refusal of a resource":        {refused(7), "", true},
		"the absence of a resource":      {refused(5), "", true},
		"a panic that quotes":            {rejected("panic"), "response rejected", true},
		"an error that quotes":           {rejected("error"), "response rejected", true},
		"a value":                        {rejected("value"), "response rejected", true},
		"a value that is no text":        {rejected("other value"), "response rejected", true},
		"a rule that quotes":             {rejected("rule"), "response rejected", true},
		"an error of a hook that quotes": {rejected("hook"), "response rejected", true},
		"a path with the key of a map":   {rejected("key"), "response rejected", true},
		"a name":                         {injects(body(shortName, "value")), "response rejected", false},
		"a name that is too long":        {injects(body(hostile, "value")), "response rejected", false},
		"a name that cannot be read":     {injects(body("unreadable", "value")), "response rejected", false},
		"the type of a resource":         {injects(&anypb.Any{TypeUrl: "x/" + hostile}), "response rejected", false},
		"the type of a response":         {func(s *memoryads.Server) { inject(s, &discoveryv3.DiscoveryResponse{TypeUrl: hostile}) }, "not registered", false},
		"a nonce": {func(s *memoryads.Server) {
			inject(s, &discoveryv3.DiscoveryResponse{TypeUrl: texts.URL(), Nonce: hostile, VersionInfo: hostile, Resources: []*anypb.Any{body("a", "value")}})
		}, "response rejected", true},
		"bytes that are no response": {func(s *memoryads.Server) { s.Inject([]byte(unreadable)) }, "stream ended", false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s, logs := newTexts(t)
				s.Set(texts.URL(), memoryads.Resource{Name: "a", Body: []byte("a|1")})
				a := follow(t.Context(), t, c, texts, "a")
				a.value("1")
				cancel, err := c.Subscribe(texts, shortName, delivered(recorder{}))
				if err != nil {
					t.Fatal(err)
				}
				defer cancel()
				pass(time.Second)
				logs.take()
				attack.do(s)
				pass(10 * time.Second)
				lines, bad := logs.take()
				for _, b := range bad {
					t.Errorf("the log: %s", b)
				}
				if attack.logged != "" && !strings.Contains(strings.Join(lines, "\n"), attack.logged) {
					t.Errorf("nothing is logged of %q, but %.1000q", attack.logged, lines)
				}
				checkTold(t, a, attack.told)
				checkSnapshot(t, c)
			})
		})
	}
}

// newTexts returns a client of one control plane in memory, and the check of its log.
func newTexts(t *testing.T) (*client.Client, *memoryads.Server, *logCheck) {
	t.Helper()
	s := memoryads.NewServer(memoryads.Type{URL: texts.URL(), Complete: true})
	types, err := resource.NewSet(texts)
	if err != nil {
		t.Fatal(err)
	}
	logs := new(logCheck)
	c, err := newWith(config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1")}}), types,
		withTransport(memoryads.Network{"memory:1": s}), withLogger(slog.New(logs)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, s, logs
}

// checkTold checks the error that a watcher received, if one was expected.
func checkTold(t *testing.T, f *follower, want bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	s, err := f.o.Next(ctx)
	switch {
	case !want:
	case err != nil || s.Err == nil:
		t.Errorf("the watcher got %v, %v; want an error", s, err)
	case unprintable(s.Err.Error()) != "":
		t.Errorf("the watcher's error %s", unprintable(s.Err.Error()))
	}
}

// checkSnapshot judges the errors in the client's status.
func checkSnapshot(t *testing.T, c *client.Client) {
	t.Helper()
	snapshot, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range snapshot.Servers {
		if s.Err != nil && unprintable(s.Err.Error()) != "" {
			t.Errorf("the status of the server %s", unprintable(s.Err.Error()))
		}
	}
	for _, r := range snapshot.Resources {
		if r.Err != nil && unprintable(r.Err.Error()) != "" {
			t.Errorf("the status of a resource %s", unprintable(r.Err.Error()))
		}
	}
}

func injects(resources ...*anypb.Any) func(*memoryads.Server) {
	return func(s *memoryads.Server) {
		inject(s, &discoveryv3.DiscoveryResponse{TypeUrl: texts.URL(), Nonce: "1", VersionInfo: "1", Resources: resources})
	}
}

// inject sends a response on the stream.
func inject(s *memoryads.Server, r *discoveryv3.DiscoveryResponse) {
	raw, err := proto.Marshal(r)
	if err != nil {
		panic(err) // a mistake of the test
	}
	s.Inject(raw)
}

// The status of a load reporting stream is such a text, too.
func TestHostileStatusOfLoadReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, logs := newTexts(t)
		s.Refuse(errors.New(unreadable))
		entry, err := bootstrap.NewServer(server("memory:1"))
		if err != nil {
			t.Fatal(err)
		}
		store, err := c.LoadStore(entry)
		if err != nil {
			t.Fatal(err)
		}
		store.Cluster(hostile, "").Drop(hostile)
		pass(time.Second)
		lines, bad := logs.take()
		if len(bad) > 0 || !strings.Contains(strings.Join(lines, "\n"), "load cannot be reported") {
			t.Errorf("the log has %.1000q, in which %q; want a line of load reports that is printable", lines, bad)
		}
	})
}
