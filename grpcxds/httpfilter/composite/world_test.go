package composite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/composite"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const message = "envoy.extensions.common.matching.v3.ExtensionWithMatcher"

// A world has filters for tests.
type world struct {
	registry *filterchain.Registry
	opened   atomic.Int64 // instances of test.Wrap
	closed   atomic.Int64
	running  atomic.Int64 // interceptors of test.Wrap that are not closed
}

// newWorld returns a world with the filters test.Tag, which sees no messages, test.Wrap, which wraps streams and owns
// something, test.End, which ends calls, test.Client and test.Server.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := new(world)
	half := func(name string, sides resource.Side) *resource.HTTPFilter {
		return &resource.HTTPFilter{Config: "test." + name, Sides: sides, Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return name, nil }}
	}
	const both = resource.ClientSide | resource.ServerSide
	tag := httpfilter.Filter{
		NewClient: httpfilter.ClientFunc(func(c, _ any) (httpfilter.ClientInterceptor, error) {
			if c == "none" {
				return nil, nil //nolint:nilnil // lets every call pass
			}
			return httpfilter.ClientBefore(func(ctx context.Context, call *httpfilter.ClientCall) (context.Context, error) {
				return call.SetMetadata(ctx, tagged(call.Metadata, c)), nil
			}), nil
		}),
		NewServer: httpfilter.ServerFunc(func(c, _ any) (httpfilter.ServerInterceptor, error) {
			return httpfilter.ServerBefore(func(ctx context.Context, call *httpfilter.ServerCall) (context.Context, error) {
				return call.SetMetadata(ctx, tagged(call.Metadata, c)), nil
			}), nil
		}),
	}
	end := httpfilter.Filter{
		HTTPFilter: half("End", resource.ClientSide),
		NewClient: httpfilter.ClientFunc(func(any, any) (httpfilter.ClientInterceptor, error) {
			return httpfilter.ClientBefore(func(ctx context.Context, _ *httpfilter.ClientCall) (context.Context, error) {
				return ctx, httpfilter.ErrEnd
			}), nil
		}),
	}
	wrap := httpfilter.Filter{
		HTTPFilter: half("Wrap", both),
		NewClient: func(h httpfilter.Host) (httpfilter.ClientInstance, error) {
			if h.Name == "broken" {
				return nil, errors.New("there is no instance")
			}
			w.opened.Add(1)
			return &clientWrap{wrap{w: w, name: h.Name}}, nil
		},
		NewServer: func(h httpfilter.Host) (httpfilter.ServerInstance, error) {
			w.opened.Add(1)
			return &serverWrap{wrap{w: w, name: h.Name}}, nil
		},
	}
	of := func(f httpfilter.Filter, name string, sides resource.Side) httpfilter.Filter {
		f.HTTPFilter = half(name, sides)
		return f
	}
	var err error
	w.registry, err = filterchain.New([]httpfilter.Filter{
		*composite.Filter(), of(tag, "Tag", both), wrap, end,
		of(httpfilter.Filter{NewClient: tag.NewClient}, "Client", resource.ClientSide), of(httpfilter.Filter{NewServer: tag.NewServer}, "Server", resource.ServerSide),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// tagged adds a value to the header x-tag.
func tagged(md metadata.MD, value any) metadata.MD {
	md = md.Copy()
	if md == nil {
		md = make(metadata.MD)
	}
	md.Append("x-tag", fmt.Sprint(value))
	return md
}

// A wrap is an instance of test.Wrap, and the part that its interceptors share.
type wrap struct {
	w    *world
	name string
	over atomic.Bool
}

func (i *wrap) Close() {
	i.over.Store(true)
	i.w.closed.Add(1)
}

type clientWrap struct{ wrap }

func (i *clientWrap) Interceptor(c, _ any) (httpfilter.ClientInterceptor, error) {
	i.w.running.Add(1)
	return &clientWrapper{i, c}, nil
}

// A clientWrapper passes an option on, and adds a tag to the headers of the response.
type clientWrapper struct {
	*clientWrap
	config any
}

func (f *clientWrapper) Close() { f.w.running.Add(-1) }

func (f *clientWrapper) NewStream(ctx context.Context, call *httpfilter.ClientCall, next httpfilter.ClientNext) (grpc.ClientStream, error) {
	if f.over.Load() {
		return nil, errors.New("the instance of the filter was closed")
	}
	s, err := next(call.SetMetadata(ctx, tagged(call.Metadata, f.config)), grpc.MaxCallSendMsgSize(len(f.name)))
	if err != nil {
		return nil, fmt.Errorf("the rest of the call: %w", err)
	}
	return &wrapped{s, f.name}, nil
}

type wrapped struct {
	grpc.ClientStream
	name string
}

func (s *wrapped) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	return tagged(md, s.name), err
}

type serverWrap struct{ wrap }

func (i *serverWrap) Interceptor(c, _ any) (httpfilter.ServerInterceptor, error) {
	i.w.running.Add(1)
	return &serverWrapper{i, c}, nil
}

type serverWrapper struct {
	*serverWrap
	config any
}

func (f *serverWrapper) Close() { f.w.running.Add(-1) }

func (f *serverWrapper) Handle(ctx context.Context, call *httpfilter.ServerCall, stream grpc.ServerStream, next httpfilter.ServerNext) error {
	if f.over.Load() {
		return errors.New("the instance of the filter was closed")
	}
	return next(call.SetMetadata(ctx, tagged(call.Metadata, f.config)), stream)
}

// choose returns a configuration with the actions for the values "0", "1" … of the header x-a.
func choose(actions ...config.Action) config.Config {
	c := config.Config{Matcher: &matchtree.Tree[int]{Header: "x-a", Values: make(map[string]matchtree.Outcome[int])}, Actions: actions}
	for i := range actions {
		c.Matcher.Values[fmt.Sprint(i)] = matchtree.Outcome[int]{Action: i}
		if actions[i].Place == "" {
			c.Actions[i].Place = fmt.Sprint("place ", i)
		}
	}
	return c
}

// action returns an action with filters: "Tag=x Wrap=y". The value is the configuration, and the name of the filter.
func action(filters string) config.Action {
	a := config.Action{PerMillion: 1_000_000}
	for f := range strings.FieldsSeq(filters) {
		kind, value, _ := strings.Cut(f, "=")
		a.Filters = append(a.Filters, config.Nested{Name: value, Message: "test." + kind, Config: value})
	}
	return a
}

// list returns a list of filters with a composite filter.
func list(c any) []listener.HTTPFilter {
	return []listener.HTTPFilter{{Name: "composite", Message: message, Config: c}}
}
