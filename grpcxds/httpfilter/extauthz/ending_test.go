package extauthz

import (
	"context"
	"strings"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
)

// An asking is an authorization server that is a function.
type asking func(context.Context, *authv3.CheckRequest) error

func (f asking) Check(ctx context.Context, m *authv3.CheckRequest, _ ...grpc.CallOption) (*authv3.CheckResponse, error) {
	return new(authv3.CheckResponse), f(ctx, m)
}

// onBothSides makes a call through the filters of both sides, with failure_mode_allow. It returns whether the rest of the call ran.
func onBothSides(ctx context.Context, f asking, md metadata.MD, report func(side string, ran bool, err error)) {
	a := &authorizer{config: config.Config{FailureModeAllow: true, EnabledPerMillion: perMillion, StatusOnError: uint32(codes.PermissionDenied)}, server: f}
	ran := false
	_, err := (&clientFilter{a}).NewStream(metadata.NewOutgoingContext(ctx, md), &httpfilter.ClientCall{Method: "/p.S/M"},
		func(context.Context, ...grpc.CallOption) (grpc.ClientStream, error) {
			ran = true
			return nil, nil
		})
	report("client", ran, err)
	ran = false
	err = (&serverFilter{a}).Handle(metadata.NewIncomingContext(ctx, md), &httpfilter.ServerCall{Method: "/p.S/M"}, nil, func(context.Context, grpc.ServerStream) error {
		ran = true
		return nil
	})
	report("server", ran, err)
}

// A past context has a deadline that has passed, although its timer has not run.
type past struct{ context.Context }

func (past) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

// The end of a call ends its check, and the call is not allowed: callers choose their deadlines.
func TestEndedCallsAreNotAllowed(t *testing.T) {
	canceled := func(ctx context.Context) (context.Context, asking) {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, func(ctx context.Context, _ *authv3.CheckRequest) error {
			cancel()
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	for name, tt := range map[string]struct {
		call func(context.Context) (context.Context, asking)
		want codes.Code
	}{
		"a cancellation": {canceled, codes.Canceled},
		"a deadline": {func(ctx context.Context) (context.Context, asking) {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			_, f := canceled(context.Background())
			return ctx, func(inner context.Context, m *authv3.CheckRequest) error { defer cancel(); return f(inner, m) }
		}, codes.DeadlineExceeded},
		"a deadline before its timer": {func(ctx context.Context) (context.Context, asking) {
			return past{ctx}, func(context.Context, *authv3.CheckRequest) error {
				return status.Error(codes.DeadlineExceeded, "context deadline exceeded")
			}
		}, codes.DeadlineExceeded},
	} {
		ctx, f := tt.call(t.Context())
		onBothSides(ctx, f, nil, func(side string, ran bool, err error) {
			if ran || status.Code(err) != tt.want {
				t.Errorf("%s, %s: the call runs %t, %v; want %v", name, side, ran, err, tt.want)
			}
		})
	}
}

// The deadline of a call is not that of its check.
func TestChecksHaveNoDeadlineOfTheCall(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	onBothSides(ctx, func(ctx context.Context, _ *authv3.CheckRequest) error {
		if d, ok := ctx.Deadline(); ok {
			t.Errorf("the check has the deadline %v; want none", d)
		}
		return nil
	}, nil, func(side string, ran bool, err error) {
		if !ran || err != nil {
			t.Errorf("%s: the call runs %t, %v; want OK", side, ran, err)
		}
	})
}

// A call above the limit is denied before the authorization server is asked.
func TestLargeCallsAreNotChecked(t *testing.T) {
	for size, want := range map[int]codes.Code{maxRequest - 200: codes.OK, maxRequest: codes.PermissionDenied, 20 << 20: codes.PermissionDenied} {
		asked := false
		onBothSides(t.Context(), func(context.Context, *authv3.CheckRequest) error {
			asked = true
			return nil
		}, metadata.Pairs("x", strings.Repeat("a", size)), func(side string, ran bool, err error) {
			if status.Code(err) != want || ran != (want == codes.OK) || asked != ran || err != nil && !strings.Contains(err.Error(), "allowed_headers") {
				t.Errorf("%d bytes, %s: %v, ran %t, asked %t; want %v", size, side, err, ran, asked, want)
			}
			asked = false
		})
	}
}

// A crowd is the error of a check that other calls prevent.
type crowd struct{ error }

func (crowd) Overflow() bool { return true }

// Failures that a caller can cause are not forgiven. Names of headers that are not UTF-8 cause none.
func TestFailuresOfCallers(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		denies bool
	}{
		"a large message":       {status.Error(codes.ResourceExhausted, "received message larger than max"), true},
		"an invalid request":    {status.Error(codes.InvalidArgument, "no token"), true},
		"a full circuit":        {crowd{status.Error(codes.Unavailable, "max_requests")}, true},
		"a server that is gone": {status.Error(codes.Unavailable, "connection refused"), false},
		"a silent server":       {status.Error(codes.DeadlineExceeded, "timeout"), false},
	} {
		onBothSides(t.Context(), func(context.Context, *authv3.CheckRequest) error { return tt.err }, nil, func(side string, ran bool, err error) {
			if ran == tt.denies || (err != nil) != tt.denies {
				t.Errorf("%s, %s: the call runs %t, %v; want denied %t", name, side, ran, err, tt.denies)
			}
		})
	}
	onBothSides(t.Context(), func(_ context.Context, m *authv3.CheckRequest) error {
		if got := m.GetAttributes().GetRequest().GetHttp().GetHeaderMap().GetHeaders()[0].GetKey(); got != "x-\uFFFD" {
			t.Errorf("the name is %q; want it with a replacement", got)
		}
		return nil
	}, metadata.MD{"x-\xe9": {"1"}}, func(string, bool, error) {})
}
