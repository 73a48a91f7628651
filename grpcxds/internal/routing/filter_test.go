package routing_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// A tag is a filter that a StringValue configures. It tags calls with the value, or ends them if
// the value is "deny" or "end".
type tag struct {
	mu    sync.Mutex
	ended []string
}

type tagging struct {
	*tag
	text string
}

func (t *tag) filter() httpfilter.Filter {
	parse := func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
		m := new(wrapperspb.StringValue)
		err := c.Unmarshal(m)
		return m.GetValue(), err
	}
	return httpfilter.Filter{
		HTTPFilter: &resource.HTTPFilter{
			Config: "google.protobuf.StringValue", Override: "google.protobuf.StringValue", Sides: resource.ClientSide,
			Parse: parse, ParseOverride: parse,
		},
		NewClient: httpfilter.ClientFunc(func(config, override any) (httpfilter.ClientInterceptor, error) {
			text := config.(string)
			if o, ok := override.(string); ok {
				text = o
			}
			if text == "broken" {
				return nil, errors.New("it is broken")
			}
			return httpfilter.ClientBefore(tagging{t, text}.intercept), nil
		}),
	}
}

func (t tagging) intercept(ctx context.Context, c *httpfilter.ClientCall) (context.Context, error) {
	c.OnDone(func(err error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ended = append(t.ended, t.text+" "+status.Code(err).String())
	})
	switch t.text {
	case "deny":
		return nil, status.Error(codes.PermissionDenied, c.Method+" "+strings.Join(c.Metadata["x"], ","))
	case "end":
		return nil, httpfilter.ErrEnd
	}
	return metadata.AppendToOutgoingContext(ctx, "tag", t.text), nil
}

func (t *tag) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ended := t.ended
	t.ended = nil
	return ended
}

func override(text string) string {
	return `typed_per_filter_config { key: "tag" value { [type.googleapis.com/google.protobuf.StringValue] { value: "` + text + `" } } } `
}

func TestFilters(t *testing.T) {
	w := newWorld(t)
	f := new(tag)
	w.filters = append(w.filters, f.filter())
	w.handler(func(_ string, s grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		_ = s.RecvMsg(new(wrapperspb.StringValue))
		return s.SendMsg(wrapperspb.String(strings.Join(md["tag"], ",")))
	})
	const (
		manager = `http_filters { name: "tag" typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "listener" } } }`
		routes  = `routes { match { prefix: "" headers { name: "x" present_match: true } } non_forwarding_action {} `
		to      = `match { prefix: "" } route { cluster: "a" } `
	)
	for _, test := range []struct {
		host, route, want string
		ended             []string
	}{
		{"", to, "listener", []string{"listener OK"}},
		{override("host"), to, "host", []string{"host OK"}},
		{override("host"), to + override("route"), "route", []string{"route OK"}},
		{override("host"), `match { prefix: "" } route { weighted_clusters { clusters { name: "a" weight { value: 1 } ` + override("cluster") + `} } } `, "cluster", []string{"cluster OK"}},
		{"", to + override("deny"), "PermissionDenied: /p.S/M ", []string{"deny PermissionDenied"}},
		{"", `match { prefix: "" } non_forwarding_action {} ` + override("deny"), "PermissionDenied: /p.S/M ", []string{"deny PermissionDenied"}},
		{"", `match { prefix: "" } non_forwarding_action {} `, "Unavailable: grpcxds: target", []string{"listener Unavailable"}},
		{"", to + override("broken"), "Unavailable: grpcxds: target", nil},
		{override("broken"), to, "Unavailable: grpcxds: target", nil},
	} {
		w.manage(manager, test.host+` routes { `+test.route+` }`)
		w.both(t, func(t *testing.T, call func(context.Context, string, ...grpc.CallOption) (string, error)) {
			got, err := call(soon(t), "/p.S/M")
			if err != nil {
				got = status.Code(err).String() + ": " + status.Convert(err).Message()
			}
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("%s, %s: %q, want %q", test.host, test.route, got, test.want)
			}
			if got := f.take(); !slices.Equal(got, test.ended) {
				t.Errorf("%s, %s: it ended %q, want %q", test.host, test.route, got, test.ended)
			}
		})
	}
}

// A filter may end a call with OK, as if the server had sent only that (A33).
func TestFilterEndsWithOK(t *testing.T) {
	w := newWorld(t)
	f := new(tag)
	w.filters = append(w.filters, f.filter())
	w.manage(`http_filters { name: "tag" typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "end" } } }`,
		`routes { match { prefix: "" } route { cluster: "a" } }`)
	if _, err := w.call(soon(t), "/p.S/M"); status.Code(err) != codes.Internal {
		t.Errorf("a unary call without an answer: %v", err)
	}
	s, err := w.open(soon(t), "/p.S/M")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMsg(wrapperspb.String("")); !errors.Is(err, io.EOF) {
		t.Errorf("sending: %v", err)
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		t.Errorf("receiving: %v", err)
	}
	if md, err := s.Header(); md != nil || err != nil || s.Trailer() != nil || s.CloseSend() != nil || s.Context() == nil {
		t.Error("the stream is no stream")
	}
	s, err = w.cc.NewStream(soon(t), &grpc.StreamDesc{}, "/p.S/M")
	if err != nil || s.SendMsg(wrapperspb.String("")) != nil || status.Code(s.RecvMsg(new(wrapperspb.StringValue))) != codes.Internal {
		t.Errorf("a stream of one message: %v", err)
	}
	if n := w.took()["a"]; n != 0 {
		t.Errorf("the server got %d calls", n)
	}
}

// TestFiltersSeeTheEndOfARetriedCall expects filters to receive the final status of a call, not the
// arrival of the header that ends its retries.
func TestFiltersSeeTheEndOfARetriedCall(t *testing.T) {
	w := newWorld(t)
	f := new(tag)
	w.filters = append(w.filters, f.filter())
	w.handler(func(_ string, s grpc.ServerStream) error {
		_ = s.SendHeader(metadata.Pairs("k", "v"))
		return status.Error(codes.Aborted, "after the header")
	})
	w.manage(`http_filters { name: "tag" typed_config { [type.googleapis.com/google.protobuf.StringValue] { value: "listener" } } }`,
		`routes { match { prefix: "" } route { cluster: "a" retry_policy { retry_on: "unavailable" num_retries { value: 1 } } } }`)
	if _, err := w.stream(soon(t), "/p.S/M"); status.Code(err) != codes.Aborted {
		t.Errorf("the call ends with %v, want the status of the server", err)
	}
	if got := f.take(); !slices.Equal(got, []string{"listener Aborted"}) {
		t.Errorf("the filter received %q; want the status of the server", got)
	}
}
