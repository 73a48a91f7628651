package extproc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// A stream that fails ends the call with INTERNAL. With failure_mode_allow, the call continues unless a message was sent.
func TestFailureModes(t *testing.T) { onBothSides(t, testFailureModes) }

func testFailureModes(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	fail := func(n int) func(fakeextproc.Stream) error {
		return func(s fakeextproc.Stream) error {
			waits := false // for a message
			for range n {
				in, err := s.Recv()
				if err != nil {
					return err
				}
				waits = (waits || in.GetProtocolConfig().GetRequestBodyMode() == filterv3.ProcessingMode_GRPC) && in.GetRequestBody() == nil
				if err := s.Send(fakeextproc.Reply(in)); err != nil {
					return err
				}
			}
			for in, err := s.Recv(); waits && err == nil && in.GetRequestBody() == nil; {
				in, err = s.Recv()
			}
			return status.Error(codes.DataLoss, "full")
		}
	}
	for _, tt := range []struct {
		events      int // answered
		modes       string
		allow, want bool
	}{
		{0, headerModes, false, false},
		{0, headerModes, true, true},
		{1, headerModes, true, true},
		{2, headerModes, true, true},
		{1, headerModes, false, false},
		{1, allModes, true, false},
		{2, allModes, true, false},
		{0, headerModes + `, "observability_mode": true`, true, true},
		{0, allModes + `, "observability_mode": true`, true, true},
	} {
		w.Handle(fail(tt.events))
		c := w.client(fmt.Sprintf(`%s, "failure_mode_allow": %t`, tt.modes, tt.allow))
		got, err := c.exchange("a")
		if tt.want && (got != "a" || err != nil) || !tt.want && (status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "full")) {
			t.Errorf("%d events, %s, allow %t: %q, %v; want OK %t", tt.events, tt.modes, tt.allow, got, err, tt.want)
		}
	}
	w.Stop()
	for _, allow := range []bool{false, true} {
		c := w.client(fmt.Sprintf(`%s, "failure_mode_allow": %t`, allModes, allow))
		if allow {
			_, _ = c.Header() // so that no message is sent before the failure
		}
		if got, err := c.exchange("a"); allow != (got == "a" && err == nil) || !allow && status.Code(err) != codes.Internal {
			t.Errorf("no processor, allow %t: %q, %v", allow, got, err)
		}
	}
}

// A failure in observability mode ends a call that waits for a response.
func TestObservedFailure(t *testing.T) { onBothSides(t, testObservedFailure) }

func testObservedFailure(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	w.Handle(func(s fakeextproc.Stream) error {
		_, _ = s.Recv()
		return status.Error(codes.DataLoss, "full")
	})
	c := w.client(headerModes + `, "observability_mode": true`)
	if got, err := c.hear(); got != "" || status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "full") {
		t.Errorf("%q, %v; want INTERNAL and the reason", got, err)
	}
}

// A refusing stream sends no messages.
type refusing struct{ grpc.ClientStream }

// SendMsg implements [grpc.ClientStream].
func (refusing) SendMsg(any) error { return status.Error(codes.ResourceExhausted, "too large") }

// A later filter, or gRPC, refuses a message of the processor. The call ends with its status, although the rest of the call goes on.
func TestRefusedMessage(t *testing.T) {
	w := newWorld(t, echo)
	w.wrap = func(s grpc.ClientStream) grpc.ClientStream { return refusing{s} }
	c := w.client(`"processing_mode": {"request_body_mode": "GRPC"}`)
	c.say("a")
	if got, err := c.hear(); got != "" || status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%q, %v; want RESOURCE_EXHAUSTED", got, err)
	}
}

// In observability mode, the processor receives all events, and delays and changes nothing. The stream stays open after the call.
func TestObservabilityMode(t *testing.T) { onBothSides(t, testObservabilityMode) }

func testObservabilityMode(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	var mu sync.Mutex
	var events []string
	over, ended := make(chan struct{}), make(chan error, 1)
	w.Handle(func(s fakeextproc.Stream) error {
		<-over // the call does not wait
		for {
			in, err := s.Recv()
			if err != nil {
				ended <- err
				return nil //nolint:nilerr // the test expects the end
			}
			mu.Lock()
			events = append(events, fmt.Sprintf("%T", in.GetRequest())[len("*ext_procv3.ProcessingRequest_"):])
			mu.Unlock()
			if !in.GetObservabilityMode() || in.GetFlowControlInit() != nil || (in.GetProtocolConfig() != nil) != (len(events) == 1) {
				t.Errorf("the event is %v; want observability_mode, and protocol_config with the first", in)
			}
			if err := s.Send(fakeextproc.Reply(in)); err != nil { // no effect
				return err
			}
		}
	})
	c := w.client(allModes+`, "observability_mode": true, "deferred_close_timeout": "60s"`, "x-user", "bob")
	got, err := c.exchange("a", "b")
	if got != "a,b" || err != nil || len(c.options) > 0 {
		t.Errorf("%q, %v, %d options; want a,b and the compression of the program", got, err, len(c.options))
	}
	close(over)
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v; want EOF after all events", err)
	}
	slices.Sort(events)
	if s := strings.Join(events, " "); s != "RequestBody RequestBody RequestBody RequestHeaders ResponseBody ResponseBody ResponseHeaders ResponseTrailers" {
		t.Errorf("the processor receives %s", s)
	}
}

// The stream of an observed call ends after deferred_close_timeout, and that of a canceled call at once.
func TestStreamsEnd(t *testing.T) {
	w := newWorld(t, echo)
	ended := make(chan struct{})
	w.Handle(func(s fakeextproc.Stream) error {
		for {
			in, err := s.Recv()
			if err != nil {
				break
			}
			_ = s.Send(fakeextproc.Reply(in))
		}
		<-s.Context().Done()
		ended <- struct{}{}
		return nil //nolint:nilerr // the test expects the end
	})
	c := w.client(headerModes + `, "observability_mode": true, "deferred_close_timeout": "0.05s"`)
	if got, err := c.exchange("a"); got != "a" || err != nil {
		t.Errorf("%q, %v; want a", got, err)
	}
	<-ended
	c = w.client(allModes)
	c.say("a")
	if err := c.RecvMsg(new(wrapperspb.StringValue)); err != nil {
		t.Error(err)
	}
	c.call.Done(context.Canceled)
	<-ended
}

// The stream of a call that succeeds ends by a half-close, so that the processor receives all events.
func TestHalfCloseAfterTheCall(t *testing.T) { onBothSides(t, testHalfCloseAfterTheCall) }

func testHalfCloseAfterTheCall(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	ended := make(chan error, 1)
	w.Handle(func(s fakeextproc.Stream) error {
		err := new(fakeextproc.Mirror).Process(s)
		ended <- err
		return err
	})
	if got, err := w.client(allModes).exchange("a"); got != "a" || err != nil {
		t.Errorf("%q, %v; want a", got, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the stream ends with %v; want a half-close", err)
	}
}

// The filter records how long it holds events.
func TestMetrics(t *testing.T) { onBothSides(t, testMetrics) }

func testMetrics(t *testing.T, newWorld newWorldFunc) {
	w := newWorld(t, echo)
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	w.meter = provider.Meter("test")
	if got, err := w.client(allModes).exchange("a"); got != "a" || err != nil {
		t.Errorf("%q, %v; want a", got, err)
	}
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range rm.ScopeMetrics[0].Metrics {
		for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
			target, _ := p.Attributes.Value("grpc.target")
			names = append(names, fmt.Sprint(m.Name, " ", m.Unit, " ", p.Count, " ", target.AsString(), " ", p.Attributes.Len()))
		}
	}
	slices.Sort(names)
	want := []string{"client_half_close", "client_headers", "server_headers", "server_trailers"}
	for i, n := range want {
		want[i] = "grpc.client_ext_proc." + n + "_duration s 1 xds:///shop 1"
		if w.onServer {
			want[i] = "grpc.server_ext_proc." + n + "_duration s 1  0"
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("the records are %q; want %q", names, want)
	}
}
