// Command thirdparty has a resource type of its own in a separate module. The message is in
// ratelimitpb. The type is in ratelimit, generated from one descriptor and two hooks. The
// command starts a control plane that serves the type, watches one resource, and prints its
// events.
package main

import (
	"context"
	"fmt"
	"io"
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
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// versions returns the versions of the policy that the control plane sends, in order.
func versions() []*ratelimitpb.Policy {
	return []*ratelimitpb.Policy{
		{Name: "checkout", Limit: &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(50)}},
		{Name: "checkout", Limit: &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(0)}},
		{Name: "checkout", Limit: &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(80)}, Excess: &ratelimitpb.Policy_OverflowCluster{OverflowCluster: "spare"}},
	}
}

// run prints the events of the policy.
func run(ctx context.Context, w io.Writer) error {
	policies, addr, stop, err := serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	c, err := newClient(addr)
	if err != nil {
		return err
	}
	defer c.Close()

	next := versions()
	publish := func() error {
		policy := next[0]
		next = next[1:]
		return policies.UpdateResource(policy.GetName(), policy)
	}
	if err := publish(); err != nil {
		return err
	}
	for ev := range ratelimit.Watch(ctx, c, "checkout") {
		switch {
		case ev.Err != nil:
			return ev.Err // no usable policy
		case ev.Ambient != nil:
			fmt.Fprintf(w, "still %d calls in a second, though: %v\n", ev.Update.Limit.PerSecond, reason(ev.Ambient))
		default:
			fmt.Fprintf(w, "%d calls in a second; then %#v\n", ev.Update.Limit.PerSecond, ev.Update.Excess)
		}
		if len(next) == 0 {
			return nil
		}
		if err := publish(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// newClient returns a client of the control plane that has the type registered.
func newClient(addr string) (*xdsforge.Client, error) {
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, addr))
	if err != nil {
		return nil, err
	}
	return xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(ratelimit.Register))
}
