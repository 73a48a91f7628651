package routing

import (
	"context"
	"errors"
	"net"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/protobuf/types/known/emptypb"
)

// TestOrderCheck calls through grpc-go's OpenTelemetry plugin. The check reports the plugin only when it comes
// after the context of the check.
func TestOrderCheck(t *testing.T) {
	wrong := 0
	check := func(ctx context.Context) context.Context { return orderCheck{ctx, func() { wrong++ }} }
	plugin := opentelemetry.DialOption(opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{MeterProvider: sdkmetric.NewMeterProvider()}})
	ours := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(check(ctx), method, req, reply, cc, opts...)
	})
	for _, test := range []struct {
		name    string
		options []grpc.DialOption
		wrong   bool
	}{
		{"no plugin", []grpc.DialOption{ours}, false},
		{"the plugin is before", []grpc.DialOption{plugin, ours}, false},
		{"the plugin is after", []grpc.DialOption{ours, plugin}, true},
	} {
		wrong = 0
		refuse := grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("no server") })
		cc, err := grpc.NewClient("passthrough:///s", append(test.options, refuse, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			t.Fatal(err)
		}
		_ = cc.Invoke(t.Context(), "/p.S/M", new(emptypb.Empty), new(emptypb.Empty))
		if err := cc.Close(); err != nil {
			t.Error(err)
		}
		if (wrong > 0) != test.wrong {
			t.Errorf("%s: reported %d times; want a report: %t", test.name, wrong, test.wrong)
		}
	}
	wrong = 0
	type key struct{}
	ctx := check(context.WithValue(t.Context(), key{}, 1))
	if ctx.Value(nil) != nil || ctx.Value(key{}) != 1 || wrong != 0 {
		t.Errorf("values of other keys are reported %d times, or lost", wrong)
	}
}
