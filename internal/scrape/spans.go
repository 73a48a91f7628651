package scrape

import (
	"context"
	"slices"
	"strings"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Spans has the spans of a tracer provider that have started.
type Spans struct {
	dropper

	mu    sync.Mutex
	names map[trace.SpanID]string
	lines []string
}

// NewSpans returns a tracer provider and its spans.
func NewSpans() (*Spans, trace.TracerProvider) {
	s := &Spans{names: make(map[trace.SpanID]string)}
	return s, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s))
}

// OnStart implements [sdktrace.SpanProcessor].
func (s *Spans) OnStart(_ context.Context, span sdktrace.ReadWriteSpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.ReplaceAll(span.Name(), "/", ".")
	s.names[span.SpanContext().SpanID()] = name
	s.lines = append(s.lines, name+" under "+s.names[span.Parent().SpanID()])
}

// Tree returns a line for each span in the order of their start: "name under parent", with dots for slashes.
func (s *Spans) Tree() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}
