package grpcxds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// A transcript has what the parties of a processed call see.
type transcript struct {
	mu                                  sync.Mutex
	requests, responses, backend, first []string // of the processor, but for backend
	program                             string
}

func (r *transcript) add(list *[]string, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, args...))
}

// seen returns what the parties see. A short one has only what the program sees.
func (r *transcript) seen(short bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if short {
		return "program: " + r.program
	}
	return strings.Join([]string{
		"first event: " + strings.Join(r.first, " "), "requests: " + strings.Join(r.requests, " "), "responses: " + strings.Join(r.responses, " "),
		"backend: " + strings.Join(r.backend, " "), "program: " + r.program,
	}, "\n  ")
}

// A recorded stream adds the events that the processor receives to a transcript.
type recorded struct {
	fakeextproc.Stream
	to *transcript
}

// Recv implements the stream.
func (s recorded) Recv() (*extprocv3.ProcessingRequest, error) {
	in, err := s.Stream.Recv()
	if err != nil {
		return in, err
	}
	if c := in.GetProtocolConfig(); c != nil {
		s.to.add(&s.to.first, "%v %v %d %t", c.GetRequestBodyMode(), c.GetResponseBodyMode(), in.GetFlowControlInit().GetInitialWindowDownstreamToSidestream(), in.GetObservabilityMode())
	}
	attributes := ""
	for name, v := range in.GetAttributes()["envoy.filters.http.ext_proc"].GetFields() {
		value := v.GetStringValue()
		if name == "request.headers" || name == "request.useragent" {
			value = "set"
		}
		attributes += fmt.Sprintf(",%s=%s", name, value)
	}
	attributes = strings.Join(slices.Sorted(slices.Values(strings.Split(attributes, ","))), ",")
	message := func(b *extprocv3.HttpBody) string {
		text := valueOf(b.GetBody())
		if b.GetEndOfStreamWithoutMessage() {
			text = "no message"
		}
		return fmt.Sprintf("%s end=%t", text, b.GetEndOfStream())
	}
	switch r := in.GetRequest().(type) {
	case *extprocv3.ProcessingRequest_RequestHeaders:
		s.to.add(&s.to.requests, "headers{%s end=%t%s}", headersSeen(r.RequestHeaders.GetHeaders()), r.RequestHeaders.GetEndOfStream(), attributes)
	case *extprocv3.ProcessingRequest_RequestBody:
		s.to.add(&s.to.requests, "message{%s%s}", message(r.RequestBody), attributes)
	case *extprocv3.ProcessingRequest_ResponseHeaders:
		s.to.add(&s.to.responses, "headers{%s end=%t%s}", headersSeen(r.ResponseHeaders.GetHeaders()), r.ResponseHeaders.GetEndOfStream(), attributes)
	case *extprocv3.ProcessingRequest_ResponseBody:
		s.to.add(&s.to.responses, "message{%s%s}", message(r.ResponseBody), attributes)
	case *extprocv3.ProcessingRequest_ResponseTrailers:
		s.to.add(&s.to.responses, "trailers{%s%s}", headersSeen(r.ResponseTrailers.GetTrailers()), attributes)
	}
	return in, nil
}

func headersSeen(m *corev3.HeaderMap) string {
	md := make(metadata.MD)
	for _, h := range m.GetHeaders() {
		md.Append(h.GetKey(), string(h.GetRawValue())+h.GetValue())
	}
	return custom(md)
}

// custom returns the headers whose names begin with x-.
func custom(md metadata.MD) string {
	var out []string
	for name, values := range md {
		if strings.HasPrefix(name, "x-") {
			out = append(out, name+"="+strings.Join(values, ","))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// valueOf returns the text of a message, or its length if it is long.
func valueOf(raw []byte) string {
	m := new(wrapperspb.StringValue)
	if proto.Unmarshal(raw, m) != nil {
		return "invalid"
	}
	return shortened(m.GetValue())
}

func shortened(s string) string {
	if len(s) > 20 {
		return fmt.Sprint(len(s), " bytes")
	}
	return s
}

// serve is a backend that echoes messages. The header x-fail makes it end without headers, and x-late after the last message.
func (r *transcript) serve(s grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	r.add(&r.backend, "headers{%s}", custom(md))
	s.SetTrailer(metadata.Pairs("x-trailer", "backend"))
	if md["x-fail"] != nil {
		return status.Error(5, "none")
	}
	if err := s.SendHeader(metadata.Pairs("x-header", "backend", "x-other", "1")); err != nil {
		return err
	}
	for {
		m := new(wrapperspb.StringValue)
		if err := s.RecvMsg(m); errors.Is(err, io.EOF) {
			r.add(&r.backend, "end")
			break
		} else if err != nil {
			return err
		}
		r.add(&r.backend, "message{%s}", shortened(m.GetValue()))
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
	if md["x-late"] != nil {
		return status.Error(9, "late")
	}
	return nil
}

// make makes a call. The program sends each message after the response to the one before, unless it sends all at once.
func (r *transcript) make(ctx context.Context, t *testing.T, cc *grpc.ClientConn, c *extProcCase) {
	t.Helper()
	ctx = metadata.AppendToOutgoingContext(ctx, append([]string{"x-user", "mallory", "x-no", "1"}, c.headers...)...)
	if c.unary {
		// grpc-go's filter fills grpc.Header and grpc.Trailer while the program reads them.
		out := new(wrapperspb.StringValue)
		err := cc.Invoke(ctx, "/p.S/M", wrapperspb.String(c.messages[0]), out)
		r.end(c, []string{shortened(out.GetValue())}, nil, nil, err)
		return
	}
	s, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/p.S/M")
	if err != nil {
		r.end(c, nil, nil, nil, err)
		return
	}
	var sender sync.WaitGroup
	sender.Go(func() {
		for _, m := range c.messages {
			if s.SendMsg(wrapperspb.String(m)) != nil {
				return
			}
		}
		_ = s.CloseSend()
	})
	header, _ := s.Header()
	var got []string
	for {
		m := new(wrapperspb.StringValue)
		if err = s.RecvMsg(m); err != nil {
			break
		}
		got = append(got, shortened(m.GetValue()))
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	sender.Wait()
	r.end(c, got, header, s.Trailer(), err)
}

func (r *transcript) end(c *extProcCase, got []string, header, trailer metadata.MD, err error) {
	st := status.Convert(err)
	text := ""
	if c.immediate {
		text = st.Message()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.program = fmt.Sprintf("header{%s} messages{%s} trailer{%s} %v %s", custom(header), strings.Join(got, ","), custom(trailer), st.Code(), text)
	if c.short && err != nil { // the timing decides about the rest
		r.program = fmt.Sprint(st.Code(), " ", text)
	}
}
