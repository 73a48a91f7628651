package serve_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/serve"
)

// A control plane on loopback, and a client of it.
func Example() {
	r := registry.New()
	standard.Register(r)
	types, err := r.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	store := publish.NewChecked(source.NewMemory(), types)
	s, err := serve.New(types, map[string]source.Source{"": store})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	g := grpc.NewServer(serve.ServerOptions()...)
	s.Register(g)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = g.Serve(listener) }()
	defer g.Stop()

	ctx := context.Background()
	if _, err := publish.Put(ctx, store, cluster.Type(), eds("checkout", "")); err != nil {
		fmt.Println(err)
		return
	}
	config, err := bootstrap.Parse(fmt.Appendf(nil,
		`{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, listener.Addr()))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	u, err := cluster.Get(ctx, c, "checkout")
	fmt.Println(u.Name(), err)
	// Output: checkout <nil>
}
