// Command thirdparty has a resource type of its own in a separate module. The message is in
// ratelimitpb. The type is in ratelimit, generated from one descriptor and two hooks. The
// command publishes versions of a policy, and watches it as a client does.
package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"

	"example.com/acme/ratelimit"
	"example.com/acme/ratelimitpb"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := run(ctx, os.Stdout)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

// versions returns the versions of the policy, in order. The second one is invalid.
func versions() []*ratelimitpb.Policy {
	return []*ratelimitpb.Policy{
		{Name: "checkout", Limit: &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(50)}},
		{Name: "checkout", Limit: &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(0)}},
		{Name: "checkout", Limit: &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(80)}, Excess: &ratelimitpb.Policy_OverflowCluster{OverflowCluster: "spare"}},
	}
}

// run publishes the versions, and prints their errors and the updates of a client.
func run(ctx context.Context, w io.Writer) error {
	store, addr, stop, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, addr))
	if err != nil {
		return err
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(ratelimit.Register))
	if err != nil {
		return err
	}
	defer c.Close()

	next, stopWatch := iter.Pull(ratelimit.Watch(ctx, c, "checkout"))
	defer stopWatch()
	for _, policy := range versions() {
		if _, err := ratelimit.Put(ctx, store, policy); err != nil {
			fmt.Fprintln(w, err) // no client sees it
			continue
		}
		ev, ok := next()
		if !ok {
			return ctx.Err()
		}
		if ev.Err != nil {
			return ev.Err
		}
		fmt.Fprintf(w, "%d calls in a second; then %#v\n", ev.Update.Limit.PerSecond, ev.Update.Excess)
	}
	return nil
}
