package grpcxds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats/opentelemetry"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakeauthz"
	"github.com/xdsforge/xdsforge/internal/scrape"
)

// On a server, the span of a check is a child of the span of the call (A72, A110). The credentials of the bootstrap override
// those of the options.
func TestChildOptionsOfAServer(t *testing.T) {
	plane, err := controlplane.Start([]string{listenerMessage, routeMessage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	a, err := fakeauthz.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Stop)
	spans, tracer := scrape.NewSpans()
	options := opentelemetry.Options{TraceOptions: experimental.TraceOptions{TracerProvider: tracer, TextMapPropagator: propagation.TraceContext{}}}
	overridden := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithCredentialsBundle(insecure.NewBundle())}
	w := newWorldOf(t, plane, fmt.Sprintf(`{"node": {"id": "n"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}],
		"allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, plane.Addr(), a.Addr()),
		xdsforge.WithTransport(grpctransport.New(grpctransport.WithChildDialOptions(append(overridden, opentelemetry.DialOption(options))...))))
	s := w.serve(opentelemetry.ServerOption(options))
	w.publishListener(s.listener(fmt.Sprintf(`http_filters { name: "authz" typed_config { [type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz] {
		grpc_service { google_grpc { target_uri: %q } } } } } `, a.Addr()) + inline(anyRoute)))
	s.awaitServing()
	if _, err := s.dial().EmptyCall(s.ctx, &testpb.Empty{}); err != nil {
		t.Fatal(err)
	}
	const want = "Sent.envoy.service.auth.v3.Authorization.Check under Recv.grpc.testing.TestService.EmptyCall"
	if tree := spans.Tree(); !slices.Contains(tree, want) {
		t.Errorf("no span %q; the spans are\n%s", want, strings.Join(tree, "\n"))
	}
}
