package client

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// The names of spans. docs/traces.md lists them with their attributes.
const (
	spanSubscribe = "xds.subscribe"
	spanResponse  = "xds.response"
)

// spans starts the spans of a client. A client without a tracer has none: it is nil.
type spans struct {
	tracer trace.Tracer
	target attribute.KeyValue
	// first has the spans of the subscriptions without a state. Loop only.
	first map[authority.Watcher]trace.Span
}

// newSpans returns nil for no tracer.
func newSpans(o Options) *spans {
	if o.Tracer == nil {
		return nil
	}
	return &spans{tracer: o.Tracer, target: attribute.String("grpc.target", o.Name), first: make(map[authority.Watcher]trace.Span)}
}

// subscribe starts the span that lasts from a subscription to its first state. It is a child of the span of ctx.
func (s *spans) subscribe(ctx context.Context, c *Client, w authority.Watcher, t *resource.Descriptor, name xdstp.Name) {
	if s == nil {
		return
	}
	attributes := []attribute.KeyValue{
		s.target, attribute.String("grpc.xds.resource_type", t.Name),
		attribute.String("grpc.xds.resource_name", printable.Text(name.String(), printable.Whole)),
	}
	if name.IsXdstp() {
		attributes = append(attributes, attribute.String("grpc.xds.authority", name.Authority()))
	}
	_, span := s.tracer.Start(ctx, spanSubscribe, trace.WithAttributes(attributes...))
	c.loop.post(func() { s.first[w] = span })
}

// deliver ends the span of a subscription that gets a state. Loop only.
func (s *spans) deliver(w authority.Watcher, st resource.State) {
	span, ok := s.first[w]
	if !ok {
		return
	}
	delete(s.first, w)
	if st.Origin != resource.OriginNone {
		span.SetAttributes(attribute.String("xdsforge.origin", st.Origin.String()))
	} else if st.Err != nil {
		span.SetStatus(codes.Error, printable.Text(st.Err.Error(), printable.Quoted))
	}
	span.End()
}

// cancel ends the span of a subscription that ends without a state. Loop only.
func (s *spans) cancel(w authority.Watcher) {
	if s == nil {
		return
	}
	if span, ok := s.first[w]; ok {
		delete(s.first, w)
		span.SetStatus(codes.Error, "canceled")
		span.End()
	}
}

// close ends all spans of subscriptions. The loop calls it at its end.
func (s *spans) close() {
	if s == nil {
		return
	}
	for w := range s.first {
		s.cancel(w)
	}
}

// response starts the span of a response. It lasts from the arrival until the loop has applied it.
func (s *spans) response(ses *session, t *resource.Descriptor, arrived time.Time) trace.Span {
	if s == nil {
		return nil
	}
	_, span := s.tracer.Start(ses.client.ctx, spanResponse, trace.WithTimestamp(arrived), trace.WithAttributes(
		s.target, attribute.String("grpc.xds.server", ses.server.URI()), attribute.String("grpc.xds.resource_type", t.Name)))
	return span
}

// describe adds the results of a response to its span.
func (d *decoded) describe(span trace.Span) {
	span.SetAttributes(
		attribute.String("xdsforge.version", strings.Clone(printable.Text(d.version, printable.Short))), attribute.Int("xdsforge.resources", d.total),
		attribute.Int("xdsforge.valid", d.valid), attribute.Int("xdsforge.invalid", d.invalid),
		attribute.Int("xdsforge.unchanged", len(d.unchanged)), attribute.Int("xdsforge.removed", d.removed),
	)
	if d.reject != "" {
		span.SetStatus(codes.Error, printable.Text(d.reject, printable.Quoted))
	}
}
