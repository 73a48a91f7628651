// Command relay serves the resources of its control plane, a folder, to other clients. One of them is in
// the same program.
//
//	GRPC_XDS_BOOTSTRAP=bootstrap.json go run .
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/relay"
	"github.com/xdsforge/xdsforge/serve"
)

func main() {
	env, err := xdsforge.NewEnv(xdsforge.WithTypes(standard.Register)) // with the bootstrap file
	if err != nil {
		log.Fatal(err)
	}
	upstream, err := env.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	r, err := relay.New(upstream)
	if err != nil {
		log.Fatal(err)
	}
	s, err := serve.New(env.Types(), map[string]source.Source{"": r})
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer(serve.ServerOptions()...)
	s.Register(g)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(g.Serve(listener)) }()

	if err := read(listener.Addr().String()); err != nil {
		log.Fatal(err)
	}
}

// read is a client of the relay, usually in another process.
func read(addr string) error {
	config, err := bootstrap.Parse(fmt.Appendf(nil,
		`{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds.transport.delta"]}]}`, addr))
	if err != nil {
		return err
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	u, err := cluster.Get(ctx, c, "checkout")
	if err != nil {
		return err
	}
	fmt.Println("by the relay:", u.Name(), "allows", u.MaxRequests, "requests")
	return nil
}
