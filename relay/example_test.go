package relay_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/relay"
	"github.com/xdsforge/xdsforge/serve"
)

// serveRelay serves the resources of a control plane to other programs.
func serveRelay(types *resource.Set, upstream *bootstrap.Config, listener net.Listener) error {
	c, err := xdsforge.New(xdsforge.WithBootstrap(upstream), xdsforge.WithTypeSet(types))
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := relay.New(c)
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := serve.New(types, map[string]source.Source{"": r}, serve.WithLoad(30*time.Second, r.AddLoad))
	if err != nil {
		return err
	}
	defer s.Close()
	g := grpc.NewServer(serve.ServerOptions()...)
	s.Register(g)
	return g.Serve(listener)
}

// A relay of the resources in a directory, and a client of the relay.
func Example() {
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	upstream, remove, err := directory("checkout")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serveRelay(types, upstream, listener) // ends with the listener
	}()

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
	u, err := cluster.Get(context.Background(), c, "checkout")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.Name())
	_ = c.Close()
	_ = listener.Close()
	<-done
	// Output: checkout
}

// directory returns the bootstrap of a directory with a cluster.
func directory(name string) (config *bootstrap.Config, remove func(), err error) {
	dir, err := os.MkdirTemp("", "relay-*")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	file := fmt.Appendf(nil, `{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": %q,
		"type": "EDS", "edsClusterConfig": {"edsConfig": {"ads": {}}}}`, name)
	if err := os.WriteFile(filepath.Join(dir, "cluster.json"), file, 0o600); err != nil {
		remove()
		return nil, nil, err
	}
	config, err = bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": "file://%s?quiet=1ms"}]}`, filepath.ToSlash(dir)))
	return config, remove, err
}
