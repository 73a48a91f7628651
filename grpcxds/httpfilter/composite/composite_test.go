package composite_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/composite"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A response is the stream of a call below its filters.
type response struct {
	grpc.ClientStream
	header metadata.MD
}

func (r *response) Header() (metadata.MD, error) { return r.header, nil }

// A client is the chain of a channel.
type client struct {
	*testing.T
	chain *filterchain.ClientChain
}

// newClient returns a client with a configuration of the filter, and with overrides.
func newClient(t *testing.T, w *world, c any, levels ...map[string]route.FilterOverride) client {
	t.Helper()
	holder := new(filters.Holder[httpfilter.ClientInstance])
	set := holder.Begin()
	t.Cleanup(set.Release)
	chain, err := clientChain(w, set, c, levels...)
	if err != nil {
		t.Fatal(err)
	}
	return client{t, chain}
}

func clientChain(w *world, set *filterchain.ClientSet, c any, levels ...map[string]route.FilterOverride) (*filterchain.ClientChain, error) {
	l, err := w.registry.Client(set, httpfilter.Host{}, list(c))
	for _, o := range levels {
		if err == nil {
			l, err = l.Override(o)
		}
	}
	if err != nil {
		return nil, err
	}
	return l.Chain()
}

// call makes a call with the header x-a. It returns the tags of the request, the tags of the response, and the options of filters.
func (c client) call(value string) (sent, received string, opts []grpc.CallOption, err error) {
	c.Helper()
	call := &httpfilter.ClientCall{Method: "/s/m", Metadata: metadata.Pairs("x-a", value)}
	ctx := call.SetMetadata(c.Context(), call.Metadata)
	if !c.chain.Messages() {
		if ctx, err = c.chain.Intercept(ctx, call); err != nil {
			return "", "", nil, err
		}
		md, _ := metadata.FromOutgoingContext(ctx)
		return strings.Join(md["x-tag"], " "), "", nil, nil
	}
	s, err := filterchain.Begin(ctx, c.chain.Interceptors()[0], call, func(ctx context.Context, o ...grpc.CallOption) (grpc.ClientStream, error) {
		md, _ := metadata.FromOutgoingContext(ctx)
		sent, opts = strings.Join(md["x-tag"], " "), o
		return &response{header: make(metadata.MD)}, nil
	})
	if err != nil {
		return "", "", nil, err
	}
	md, err := s.Header()
	return sent, strings.Join(md["x-tag"], " "), opts, err
}

// The matcher chooses the filters of a call. They run in the order of the action. A call without a match fails (A103).
func TestClient(t *testing.T) {
	w := newWorld(t)
	plain := choose(action("Tag=a Tag=b"), action(""), action("Client=c Tag=none"), action("End=x"))
	wrapping := choose(action("Wrap=w Tag=a Wrap=ww"), action(""), action("Tag=c"), action("End=x"))
	for _, tt := range []struct {
		name, value    string
		config         config.Config
		messages       bool
		sent, received string
		opts           int
		code           codes.Code
	}{
		{"two filters", "0", plain, false, "a b", "", 0, codes.OK},
		{"skip", "1", plain, false, "", "", 0, codes.OK},
		{"a filter of clients", "2", plain, false, "c", "", 0, codes.OK},
		{"no match", "9", plain, false, "", "", 0, codes.Unavailable},
		{"filters that see messages", "0", wrapping, true, "w a ww", "ww w", 2, codes.OK},
		{"skip beside filters that see messages", "1", wrapping, true, "", "", 0, codes.OK},
		{"a function beside filters that see messages", "2", wrapping, true, "c", "", 0, codes.OK},
		{"no match beside filters that see messages", "9", wrapping, true, "", "", 0, codes.Unavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, w, tt.config)
			if c.chain.Messages() != tt.messages {
				t.Errorf("the composite filter sees messages: %v; want %v, as its filters do", c.chain.Messages(), tt.messages)
			}
			sent, received, opts, err := c.call(tt.value)
			if status.Code(err) != tt.code || sent != tt.sent || received != tt.received || len(opts) != tt.opts {
				t.Errorf("the request has the tags %q, the response %q, %d options, %v; want %q, %q, %d, %v", sent, received, len(opts), err, tt.sent, tt.received, tt.opts, tt.code)
			}
		})
	}
	if _, _, _, err := newClient(t, w, plain).call("3"); !errors.Is(err, httpfilter.ErrEnd) {
		t.Errorf("a filter ends the call: %v; want ErrEnd", err)
	}
}

// If an inner filter ends the call with OK, the outer one gets the stream of an ended call.
func TestEndInsideOfAStream(t *testing.T) {
	c := newClient(t, newWorld(t), choose(action("Wrap=w End=x")))
	call := &httpfilter.ClientCall{Metadata: metadata.Pairs("x-a", "0"), ServerStreams: true}
	s, err := c.chain.Interceptors()[0].NewStream(t.Context(), call, func(context.Context, ...grpc.CallOption) (grpc.ClientStream, error) {
		return nil, errors.New("the call continues")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(nil); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v; want EOF", err)
	}
}

// serve returns the tags of a request with the header x-a when it reaches the handler.
func serve(t *testing.T, chain *filterchain.ServerChain, value string) (tags string, err error) {
	t.Helper()
	call := &httpfilter.ServerCall{Method: "/s/m", Metadata: metadata.Pairs("x-a", value)}
	if !chain.Messages() {
		_, err = chain.Intercept(t.Context(), call)
		return strings.Join(call.Metadata["x-tag"], " "), err
	}
	err = filterchain.Handle(chain.Interceptors(), call, func(context.Context, grpc.ServerStream) error {
		tags = strings.Join(call.Metadata["x-tag"], " ")
		return nil
	})(t.Context(), nil)
	return tags, err
}

func newServer(t *testing.T, w *world, c any) *filterchain.ServerChain {
	t.Helper()
	holder := new(filters.Holder[httpfilter.ServerInstance])
	set := holder.Begin()
	t.Cleanup(set.Release)
	l, err := w.registry.Server(set, "chain", httpfilter.Host{}, list(c))
	if err != nil {
		t.Fatal(err)
	}
	chain, err := l.Chain()
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

func TestServer(t *testing.T) {
	w := newWorld(t)
	plain := choose(action("Tag=a Server=b"), action(""))
	wrapping := choose(action("Wrap=w Tag=a Wrap=ww"), action(""))
	for _, tt := range []struct {
		value    string
		config   config.Config
		messages bool
		want     string
		code     codes.Code
	}{
		{"0", plain, false, "a b", codes.OK},
		{"1", plain, false, "", codes.OK},
		{"9", plain, false, "", codes.Unavailable},
		{"0", wrapping, true, "w a ww", codes.OK},
		{"1", wrapping, true, "", codes.OK},
		{"9", wrapping, true, "", codes.Unavailable},
	} {
		chain := newServer(t, w, tt.config)
		if got, err := serve(t, chain, tt.value); got != tt.want || status.Code(err) != tt.code || chain.Messages() != tt.messages {
			t.Errorf("a call with %s has the tags %q, %v, sees messages: %v; want %q, %v, %v", tt.value, got, err, chain.Messages(), tt.want, tt.code, tt.messages)
		}
	}
}

// A call fails with UNAVAILABLE if a filter of its action cannot run on this side. Calls of other actions are unaffected (A103).
func TestFilterThatCannotRun(t *testing.T) {
	w := newWorld(t)
	for _, broken := range []string{"Tag=a Server=b", "Missing=x", "Wrap=broken"} {
		c := newClient(t, w, choose(action(broken), action("Tag=c")))
		if _, _, _, err := c.call("0"); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v; want UNAVAILABLE", broken, err)
		}
		if sent, _, _, err := c.call("1"); err != nil || sent != "c" {
			t.Errorf("beside %s: %q, %v; want c", broken, sent, err)
		}
	}
	chain := newServer(t, w, choose(action("Client=a"), action("Tag=c")))
	if _, err := serve(t, chain, "0"); status.Code(err) != codes.Unavailable {
		t.Errorf("a filter of clients on a server: %v; want UNAVAILABLE", err)
	}
	if got, err := serve(t, chain, "1"); err != nil || got != "c" {
		t.Errorf("beside a filter of clients: %q, %v; want c", got, err)
	}
}

// An override replaces the matcher. Without a matcher, the filter lets every call pass.
func TestOverride(t *testing.T) {
	w := newWorld(t)
	for want, o := range map[string]config.Config{"b": choose(action("Tag=b")), "": {}} {
		c := newClient(t, w, choose(action("Tag=a")), map[string]route.FilterOverride{"composite": {Message: message + "PerRoute", Config: o}})
		if sent, _, _, err := c.call("0"); err != nil || sent != want {
			t.Errorf("the tags are %q, %v; want %q", sent, err, want)
		}
		if want == "" && !c.chain.Idle() {
			t.Error("a filter without a matcher runs")
		}
	}
	if sent, _, _, err := newClient(t, w, config.Config{}).call("0"); err != nil || sent != "" {
		t.Errorf("without a matcher: %q, %v", sent, err)
	}
}

// A filter whose matcher was not decoded does not run, because it may deny calls. Nor does an override of that kind.
func TestUnread(t *testing.T) {
	unread := config.Config{Unread: true}
	for _, c := range [][2]any{{unread, nil}, {config.Config{}, unread}} {
		client, err := composite.Filter().NewClient(httpfilter.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if i, err := client.Interceptor(c[0], c[1]); err == nil || i != nil {
			t.Errorf("a channel has the interceptor %v, %v; want an error", i, err)
		}
		server, err := composite.Filter().NewServer(httpfilter.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if i, err := server.Interceptor(c[0], c[1]); err == nil || i != nil {
			t.Errorf("a server has the interceptor %v, %v; want an error", i, err)
		}
	}
}

// A composite filter may be inside of another one.
func TestNestedComposite(t *testing.T) {
	outer := config.Action{PerMillion: 1_000_000, Filters: []config.Nested{{Name: "inner", Message: message, Config: choose(action("Wrap=i"))}}}
	c := newClient(t, newWorld(t), choose(outer))
	if sent, received, _, err := c.call("0"); err != nil || sent != "i" || received != "i" {
		t.Errorf("tags %q and %q, %v; want i and i", sent, received, err)
	}
}

// Instances of chosen filters survive 10,000 updates under calls. Everything is closed after the last configuration.
func TestInstancesSurviveUpdates(t *testing.T) {
	w := newWorld(t)
	holder := new(filters.Holder[httpfilter.ClientInstance])
	type generation struct {
		set   *filters.Set[httpfilter.ClientInstance]
		chain *filterchain.ClientChain
	}
	update := func(i int) generation {
		set := holder.Begin()
		actions := []config.Action{action("Wrap=w"), action("Tag=a")}
		if i%2 == 1 {
			actions = append(actions, action("Wrap=other"))
		}
		chain, err := clientChain(w, set, choose(actions...))
		if err != nil {
			t.Error(err)
		}
		return generation{set, chain}
	}
	var mu sync.Mutex
	current := update(0)
	var callers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				g := current
				mu.Unlock()
				if !g.chain.Acquire() {
					continue // replaced
				}
				sent, received, _, err := client{t, g.chain}.call("0")
				g.chain.Release()
				if err != nil || sent != "w" || received != "w" {
					t.Errorf("a call during updates: tags %q and %q, %v", sent, received, err)
					return
				}
			}
		})
	}
	const updates = 10_000
	for i := range updates {
		next := update(i + 1)
		mu.Lock()
		last := current
		current = next
		mu.Unlock()
		last.set.Release()
	}
	close(done)
	callers.Wait()
	if n := w.opened.Load(); n > updates/2+2 || n < 2 {
		t.Errorf("%d instances were created; want one for the action of all updates, and one for each run of the other", n)
	}
	current.set.Release()
	if opened, closed, running := w.opened.Load(), w.closed.Load(), w.running.Load(); opened != closed || running != 0 || holder.Len() != 0 {
		t.Errorf("%d instances were created and %d closed, %d interceptors are open; want all closed", opened, closed, running)
	}
}
