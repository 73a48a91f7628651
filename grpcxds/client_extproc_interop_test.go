package grpcxds_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

type (
	procIn  = extprocv3.ProcessingRequest
	procOut = extprocv3.ProcessingResponse
)

// An extProcCase is a call with a processor.
type extProcCase struct {
	name, config, routes string
	unary                bool
	messages, headers    []string
	change               func(in *procIn, out *procOut) []*procOut // of a mirror; nil: none
	process              func(fakeextproc.Stream) error            // in place of the mirror
	short                bool                                      // only the program is compared, and of failed calls the status
	immediate            bool                                      // the texts of the statuses are compared, too
	apart                string                                    // why ours differs
	ours                 string                                    // a part of what our program sees, if apart
	hangs                bool                                      // grpc-go's call may not end
	races                bool                                      // grpc-go's result depends on the timing
}

// withExtProc enables grpc-go's filter.
const withExtProc = "GRPC_EXPERIMENTAL_XDS_EXT_PROC_ON_CLIENT"

// With the same processor and control plane, our channel and grpc-go's own do the same. grpc-go reads its variable when the program
// starts, so that the test runs in a process of its own. It has no race detector: in grpc-go 1.85, Trailer races with the filter.
func TestExtProcIsThatOfGRPC(t *testing.T) {
	if os.Getenv(withExtProc) != "true" {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestExtProcIsThatOfGRPC$", "-v", "-timeout=5m", ".")
		cmd.Env = append(os.Environ(), withExtProc+"=true")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "cases are equal") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	p, s := newPlane(t), extProc(t)
	var now atomic.Pointer[transcript]
	b := newBackend(t, "b", grpc.StreamInterceptor(func(_ any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		return now.Load().serve(ss)
	}))
	p.cluster("c", "e", b)
	config := fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, p.entry(), s.Addr())
	env := newEnv(t, config)
	builder, err := xds.NewXDSResolverWithConfigForTesting([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	equal := 0
	for i, c := range extProcCases() {
		target := fmt.Sprintf("case%d", i)
		if c.routes == "" {
			c.routes = to("c")
		}
		p.listener(target, processed(s.Addr(), c.config)+`route_config { name: "r" `+hosts("*", c.routes)+`}`)
		run := func(cc *grpc.ClientConn, limit time.Duration) string {
			r := new(transcript)
			ctx, cancel := context.WithTimeout(soon(t), limit)
			defer cancel()
			now.Store(r)
			handled := make(chan struct{})
			s.Handle(func(stream fakeextproc.Stream) error {
				defer close(handled)
				if c.process != nil {
					return c.process(recorded{stream, r})
				}
				return (&fakeextproc.Mirror{Change: c.change}).Process(recorded{stream, r})
			})
			r.make(ctx, t, cc, c)
			if s.Open.Load() > 0 && !c.short {
				<-handled // all events
			}
			return r.seen(c.short)
		}
		theirs, err := grpc.NewClient("xds:///"+target, grpc.WithResolvers(builder), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		limit := time.Minute
		if c.hangs {
			limit = time.Second
		}
		got, want := run(newChannel(t, env, "xds:///"+target), time.Minute), run(theirs, limit)
		for tries := 1; got != want && c.apart == "" && tries < 5; tries++ { // any call of grpc-go's may end with INTERNAL too early
			want = run(theirs, limit)
		}
		_ = theirs.Close()
		program := got[strings.LastIndex(got, "program: "):]
		switch {
		case !c.races && (got == want) != (c.apart == ""), !strings.Contains(program, c.ours):
			t.Errorf("%s (%s; %s):\nours:\n  %s\ngrpc-go's:\n  %s", c.name, c.apart, c.ours, got, want)
		case got == want:
			equal++
		}
	}
	t.Logf("%d of %d cases are equal", equal, len(extProcCases()))
}

const (
	headersOnly = `processing_mode { response_trailer_mode: SEND } `
	appendTo    = corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD
	overwrite   = corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD
)

func mutate(action corev3.HeaderValueOption_HeaderAppendAction, name, value string, remove ...string) *extprocv3.HeaderMutation {
	return &extprocv3.HeaderMutation{RemoveHeaders: remove, SetHeaders: []*corev3.HeaderValueOption{{
		Header: &corev3.HeaderValue{Key: name, Value: value}, AppendAction: action,
	}}}
}

// mutating returns a change of all headers and trailers.
func mutating(m *extprocv3.HeaderMutation) func(*procIn, *procOut) []*procOut {
	return func(_ *procIn, out *procOut) []*procOut {
		switch r := out.GetResponse().(type) {
		case *extprocv3.ProcessingResponse_RequestHeaders:
			r.RequestHeaders.Response = &extprocv3.CommonResponse{HeaderMutation: m}
		case *extprocv3.ProcessingResponse_ResponseHeaders:
			r.ResponseHeaders.Response = &extprocv3.CommonResponse{HeaderMutation: m}
		case *extprocv3.ProcessingResponse_ResponseTrailers:
			r.ResponseTrailers.HeaderMutation = m
		}
		return []*procOut{out}
	}
}

// phases are the events at which a processor acts.
var phases = []struct {
	name string
	is   func(*procIn) bool
}{
	{"request headers", func(in *procIn) bool { return in.GetRequestHeaders() != nil }},
	{"request message", func(in *procIn) bool { return in.GetRequestBody() != nil }},
	{"half-close", func(in *procIn) bool { return in.GetRequestBody().GetEndOfStream() }},
	{"response headers", func(in *procIn) bool { return in.GetResponseHeaders() != nil }},
	{"response message", func(in *procIn) bool { return in.GetResponseBody() != nil }},
	{"trailers", func(in *procIn) bool { return in.GetResponseTrailers() != nil }},
}

// until returns a processor that mirrors events up to one, at which it ends the stream with err.
func endingAt(is func(*procIn) bool, err error) func(fakeextproc.Stream) error {
	return func(s fakeextproc.Stream) error {
		for {
			in, failure := s.Recv()
			if failure != nil {
				return failure
			}
			if is(in) {
				return err
			}
			if out := fakeextproc.Reply(in); out != nil {
				if failure := s.Send(out); failure != nil {
					return failure
				}
			}
		}
	}
}

// extProcCases returns the cases.
func extProcCases() []*extProcCase {
	one, three := []string{"a"}, []string{"a", "b", "c"}
	replace := func(_ *procIn, out *procOut) []*procOut {
		if m := fakeextproc.Message(out); m != nil && !m.GetEndOfStreamWithoutMessage() {
			m.Body, _ = proto.Marshal(wrapperspb.String("<" + valueOf(m.GetBody()) + ">"))
		}
		return []*procOut{out}
	}
	all := []*extProcCase{
		{name: "unchanged", config: allEvents, unary: true, messages: one},
		{name: "unchanged stream", config: allEvents, messages: three},
		{name: "no message", config: allEvents, apart: "grpc-go forwards requests after the first message", ours: "OK", hangs: true},
		{name: "raw value", config: headersOnly, messages: one, apart: "grpc-go does not read raw_value", change: mutating(&extprocv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-user", RawValue: []byte("bob")}, AppendAction: overwrite}}})},
		{name: "overwritten headers", config: allEvents, messages: one, change: mutating(mutate(overwrite, "x-user", "bob", "x-no", "x-other"))},
		{name: "appended headers", config: headersOnly, messages: three, change: mutating(mutate(appendTo, "x-header", "more", "x-trailer"))},
		{name: "absent headers", config: headersOnly, messages: three, change: mutating(mutate(corev3.HeaderValueOption_ADD_IF_ABSENT, "x-header", "more"))},
		{name: "present headers", config: headersOnly, messages: three, change: mutating(mutate(corev3.HeaderValueOption_OVERWRITE_IF_EXISTS, "x-trailer", "more"))},
		{name: "disallowed headers", config: allEvents + ` mutation_rules { disallow_expression { regex: "x-no" } }`, messages: one, change: mutating(mutate(overwrite, "x-user", "bob", "x-no"))},
		{name: "disallowed is an error", config: headersOnly + ` mutation_rules { disallow_all { value: true } disallow_is_error { value: true } }`, messages: one, short: true, apart: "grpc-go ignores disallow_is_error with disallow_all", ours: "Internal", change: mutating(mutate(overwrite, "x-user", "bob"))},
		{name: "invalid header", config: headersOnly, unary: true, messages: one, short: true, change: mutating(mutate(overwrite, "x user", "bob"))},
		{name: "forwarded headers", config: allEvents + ` forward_rules { allowed_headers { patterns { prefix: "x-" } } disallowed_headers { patterns { exact: "x-no" } } }`, unary: true, messages: one},
		{name: "replaced messages", config: allEvents, unary: true, messages: one, change: replace},
		{name: "replaced messages of a stream", config: allEvents, messages: three, change: replace},
		{name: "dropped and doubled messages", config: allEvents, messages: three, change: func(in *procIn, out *procOut) []*procOut {
			switch m := fakeextproc.Message(out); {
			case in.GetRequestBody() != nil && valueOf(m.GetBody()) == "b":
				return nil
			case in.GetResponseBody() != nil:
				return []*procOut{out, proto.CloneOf(out)}
			}
			return []*procOut{out}
		}},
		{name: "attributes", config: allEvents + ` request_attributes: ["request.path", "request.url_path", "request.method", "request.headers", "request.query", "unknown"] `, unary: true, messages: one, headers: []string{"x-request-id", "7", "referer", "r"}},
		{name: "attributes of responses", config: allEvents + ` response_attributes: ["request.path", "request.scheme"]`, unary: true, messages: one, apart: "grpc-go sends no response_attributes with the headers"},
		{name: "attributes of headers", config: allEvents + ` request_attributes: ["request.referer", "request.id"]`, unary: true, messages: one, headers: []string{"x-request-id", "7", "referer", "r"}},
		{name: "authority", config: allEvents + ` request_attributes: "request.host"`, unary: true, messages: one, apart: "gRPC chooses the authority below our filters"},
		{name: "error without headers", config: headersOnly, messages: one, headers: []string{"x-fail", "1"}, short: true},
		{name: "error without headers, and messages", config: allEvents, messages: one, headers: []string{"x-fail", "1"}, short: true, apart: "grpc-go may lose the status", ours: "NotFound", races: true},
		{name: "late error", config: allEvents, messages: three, headers: []string{"x-late", "1"}},
		{name: "many messages", config: allEvents, messages: slices.Repeat([]string{strings.Repeat("x", 2000)}, 200)},
		{name: "large message", config: allEvents, unary: true, messages: []string{strings.Repeat("x", 200_000)}},
		{name: "observer", config: allEvents + ` observability_mode: true deferred_close_timeout { seconds: 30 }`, messages: three, short: true},
		{name: "mode override", config: headersOnly, messages: three, change: func(_ *procIn, out *procOut) []*procOut {
			out.ModeOverride = &extprocfilterv3.ProcessingMode{ResponseHeaderMode: extprocfilterv3.ProcessingMode_SKIP, ResponseTrailerMode: extprocfilterv3.ProcessingMode_SKIP}
			return []*procOut{out}
		}},
		{name: "early half-close", config: allEvents, messages: three, change: func(in *procIn, out *procOut) []*procOut {
			if m := fakeextproc.Message(out); in.GetRequestBody() != nil {
				if valueOf(m.GetBody()) != "a" {
					return nil
				}
				m.EndOfStream = true
			}
			return []*procOut{out}
		}, short: true},
		{name: "route override", config: allEvents, unary: true, messages: one, routes: `routes { match { prefix: "" } route { cluster: "c" } typed_per_filter_config { key: "proc" value {
			[type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute] { overrides { processing_mode { request_header_mode: SKIP response_trailer_mode: SEND } } } } } }`},
	}
	for _, modes := range []string{
		`request_header_mode: SKIP response_header_mode: SKIP request_body_mode: GRPC`,
		`request_header_mode: SKIP response_header_mode: SKIP response_body_mode: GRPC response_trailer_mode: SEND`,
		`request_header_mode: SKIP response_header_mode: SKIP response_trailer_mode: SEND`,
		`request_body_mode: GRPC`, ``,
	} {
		all = append(all, &extProcCase{name: "modes " + modes, config: "processing_mode { " + modes + " }", messages: three})
	}
	for _, at := range phases {
		for _, modes := range []string{allEvents, headersOnly} {
			if modes == headersOnly && !strings.Contains(at.name, "headers") && at.name != "trailers" {
				continue
			}
			for _, allow := range []string{``, ` failure_mode_allow: true`} {
				all = append(all, &extProcCase{
					name: "failure at " + at.name + " " + modes + allow, config: modes + allow, unary: true, messages: one, short: true,
					process: endingAt(at.is, status.Error(codes.DataLoss, "full")),
				})
			}
			early := &extProcCase{name: "OK at " + at.name + " " + modes, config: modes, unary: true, messages: one, short: true, process: endingAt(at.is, nil)}
			if modes == allEvents {
				early.apart, early.ours, early.races, early.hangs = "grpc-go needs no drain, and may lose messages", "", true, true
				if at.name != "request headers" { // else the result depends on whether the message was sent
					early.ours = "Internal"
				}
			}
			all = append(all, early)
			for _, code := range []*extprocv3.GrpcStatus{{Status: 16}, {Status: 17}, nil} {
				all = append(all, &extProcCase{
					name: fmt.Sprint("immediate response at ", at.name, " ", code, " ", modes), config: modes, unary: true, messages: one, short: true, immediate: true,
					change: func(in *procIn, out *procOut) []*procOut {
						if at.is(in) {
							out.Response = &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
								GrpcStatus: code, Details: "go away", Headers: mutate(overwrite, "x-reason", "1"),
							}}
						}
						return []*procOut{out}
					},
				})
			}
		}
		drain := &extProcCase{
			name: "drain at " + at.name, config: allEvents, messages: slices.Repeat([]string{"a", "b"}, 10), short: true,
			change: func(in *procIn, out *procOut) []*procOut {
				out.RequestDrain = at.is(in) //nolint:staticcheck // grpc-go 1.85 has this field
				return []*procOut{out}
			},
		}
		if strings.HasPrefix(at.name, "resp") || at.name == "trailers" {
			drain.apart, drain.ours, drain.races = "grpc-go may fail calls that drain during the response", "OK", true
		}
		all = append(all, drain, &extProcCase{
			name: "wrong status at " + at.name, config: allEvents, unary: true, messages: one, short: true,
			change: func(in *procIn, out *procOut) []*procOut {
				if r := commonOf(out); at.is(in) && r != nil {
					r.Status = extprocv3.CommonResponse_CONTINUE_AND_REPLACE
				}
				return []*procOut{out}
			},
		})
	}
	return all
}

// commonOf returns the response to headers or a message, or nil.
func commonOf(out *procOut) *extprocv3.CommonResponse {
	switch r := out.GetResponse().(type) {
	case *extprocv3.ProcessingResponse_RequestHeaders:
		r.RequestHeaders.Response = new(extprocv3.CommonResponse)
		return r.RequestHeaders.GetResponse()
	case *extprocv3.ProcessingResponse_ResponseHeaders:
		r.ResponseHeaders.Response = new(extprocv3.CommonResponse)
		return r.ResponseHeaders.GetResponse()
	case *extprocv3.ProcessingResponse_RequestBody:
		return r.RequestBody.GetResponse()
	case *extprocv3.ProcessingResponse_ResponseBody:
		return r.ResponseBody.GetResponse()
	}
	return nil
}
