package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/credentials/insecure"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// callTimeout is more than the time after which a cluster that never comes is known not to.
const callTimeout = time.Minute

// Call makes a call and returns the message of its status.
func (v *victim) Call(_ struct{}, message *string) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	*message = status.Convert(v.cc.Invoke(ctx, "/hostile.Service/Call", new(emptypb.Empty), new(emptypb.Empty))).Message()
	return nil
}

// HangUp closes the channel.
func (v *victim) HangUp(struct{}, *struct{}) error {
	began := time.Now()
	err := v.cc.Close()
	if took := time.Since(began); err == nil && took > maxClose {
		err = fmt.Errorf("closing the channel took %v; must take at most %v", took, maxClose)
	}
	return errors.Join(err, v.env.Close())
}

// maxClose is how long closing a channel may take.
const maxClose = 100 * time.Millisecond

// Dial creates a channel.
func (v *victim) Dial(struct{}, *struct{}) (err error) {
	if v.env, err = xdsforge.NewEnv(xdsforge.WithBootstrap(v.config), xdsforge.WithTypes(grpcxds.Register)); err != nil {
		return err
	}
	v.cc, err = grpcxds.Dialer{Env: v.env}.NewClient("xds:///svc", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err == nil {
		v.cc.Connect()
	}
	return err
}

// Count counts load until Counted, always with new categories and clusters.
func (v *victim) Count(struct{}, *struct{}) error {
	store, err := v.client.LoadStore(v.config.Servers()[0])
	if err != nil {
		return err
	}
	for i := range 1000 {
		store.Cluster("other-"+strconv.Itoa(i), "").Drop("")
	}
	cluster := store.Cluster("c-1", "")
	v.stop, v.longest = make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		ticks := time.NewTicker(time.Millisecond)
		defer ticks.Stop()
		var longest time.Duration
		for i := 0; ; i++ {
			select {
			case <-v.stop:
				v.longest <- longest
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

// Counted ends Count and returns the longest time that counting took.
func (v *victim) Counted(_ struct{}, longest *time.Duration) error { //nolint:unparam // net/rpc requires a result
	close(v.stop)
	*longest = <-v.longest
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
	return wire.Encode(l), err
}
