package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/credentials/insecure"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// A caller is the part of the victim that makes calls and counts load.
type caller struct {
	config *bootstrap.Config
	env    *xdsforge.Env
	cc     *grpc.ClientConn

	stop    chan struct{} // ends the counting
	longest chan time.Duration
}

// callTimeout is more than the time after which a cluster that never comes is known not to.
const callTimeout = time.Minute

// obey carries out the orders that are about calls.
func (c *caller) obey(v *victim, o order) (r reading, err error) {
	switch o.Do {
	case "dial":
		err = c.dial()
	case "call":
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		err := c.cc.Invoke(ctx, "/hostile.Service/Call", new(emptypb.Empty), new(emptypb.Empty))
		return reading{Text: status.Convert(err).Message()}, nil
	case "hang up":
		began := time.Now()
		err = c.cc.Close()
		if took := time.Since(began); err == nil && took > maxClose {
			err = fmt.Errorf("closing the channel took %v; must take at most %v", took, maxClose)
		}
		if closed := c.env.Close(); err == nil {
			err = closed
		}
	case "count":
		err = c.count(v)
	case "counted":
		close(c.stop)
		r.Delay = <-c.longest
	default:
		err = fmt.Errorf("unknown command %q", o.Do)
	}
	return r, err
}

// maxClose is how long closing a channel may take.
const maxClose = 100 * time.Millisecond

func (c *caller) dial() (err error) {
	if c.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(c.config), xdsforge.WithTypes(grpcxds.Register)); err != nil {
		return err
	}
	c.cc, err = grpcxds.Dialer{Env: c.env}.NewClient("xds:///svc", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err == nil {
		c.cc.Connect()
	}
	return err
}

// count counts load until it is stopped, always with new categories and clusters.
func (c *caller) count(v *victim) error {
	store, err := v.client.LoadStore(c.config.Servers()[0])
	if err != nil {
		return err
	}
	for i := range 1000 {
		store.Cluster("other-"+strconv.Itoa(i), "").Drop("")
	}
	cluster := store.Cluster("c-1", "")
	c.stop, c.longest = make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		ticks := time.NewTicker(time.Millisecond)
		defer ticks.Stop()
		var longest time.Duration
		for i := 0; ; i++ {
			select {
			case <-c.stop:
				c.longest <- longest
				cluster.Release()
				return
			case <-ticks.C:
				began := time.Now()
				cluster.Drop("category " + strconv.Itoa(i%2000))
				longest = max(longest, time.Since(began))
			}
		}
	}()
	return nil
}

// targetListener is a Listener for channels, with a route to each cluster.
func targetListener(name string, clusters []string) ([]byte, error) {
	var list strings.Builder
	for _, cluster := range clusters {
		fmt.Fprintf(&list, `routes { match { prefix: "" } route { cluster: %q } } `, cluster)
	}
	l := new(listenerv3.Listener)
	err := controlplane.Parse(l, `name: %q api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
			route_config { name: "r" virtual_hosts { name: "v" domains: "*" %s } } } } }`, name, list.String())
	return encoded(l), err
}
