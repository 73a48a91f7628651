package client_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/fakeads"
)

// A server that accepts connections and grants no stream counts as unreachable: the client
// falls back, or notifies its watchers.
func TestServerThatGrantsNoStream(t *testing.T) {
	silent, err := fakeads.StartNoStreams()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(silent.Stop)
	second := startServer(t)
	set(t, second, "a", cluster("a", "second"))
	impatient := withTransport(grpctransport.New(grpctransport.WithStreamTimeout(100 * time.Millisecond)))
	ctx := testContext(t)
	alone := newClient(t, oneServer(t, silent.Addr()), impatient)
	if text := follow(ctx, t, alone, clusters, "a").failed(resource.ErrTransport); !strings.Contains(text, "granted no stream") {
		t.Errorf("error = %v, want the reason", text)
	}
	both := newClient(t, config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server(silent.Addr()), server(second.Addr())}}), impatient)
	follow(ctx, t, both, clusters, "a").value("second")
	picture, err := both.Snapshot(ctx)
	if err != nil || !errors.Is(picture.Servers[0].Err, &transport.Error{Kind: grpctransport.KindNoStream}) {
		t.Errorf("snapshot = %+v, %v; want why the first server is not used", picture.Servers[0], err)
	}
}
