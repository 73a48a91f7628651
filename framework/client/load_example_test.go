package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
)

// The field LoadReports of a cluster's update selects the store that counts calls. They are reported to
// the server that the cluster came from.
func ExampleClient_LoadStore() {
	sink := fakelrs.New(10 * time.Millisecond)
	server, err := controlplane.Start(nil, sink.Option())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop()
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, server.Addr()))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.New(config, new(resource.Set), client.Options{MinLoadInterval: time.Millisecond, MaxLoadInterval: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	store, err := c.LoadStore(config.Servers()[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	checkout := store.Cluster("checkout", "")
	defer checkout.Release()
	south := checkout.Locality(load.LocalityID{Region: "south"}, load.Propagation{})
	defer south.Release()
	south.CallStarted()
	south.CallFinished(nil, nil)
	checkout.Drop("throttle")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all := fakelrs.Totals{Issued: 1, Succeeded: 1, Dropped: 1}
	if err := sink.Await(ctx, func(r []fakelrs.Report) bool { return fakelrs.Sum(r) == all }); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", fakelrs.Sum(sink.Reports()))

	foreign, err := bootstrap.ParseServer([]byte(`{"server_uri": "evil.example:443", "channel_creds": [{"type": "google_default"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.LoadStore(foreign)
	fmt.Println(errors.Is(err, load.ErrServerNotInBootstrap), err)
	// Output:
	// {Issued:1 Succeeded:1 Failed:0 Dropped:1}
	// true client: lrs: server = evil.example:443 (google_default); the server is not in the bootstrap (gRFC A47)
}
