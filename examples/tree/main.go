// Command tree watches a listener with all that it needs (its routes, clusters and
// endpoints) as one thing, while a control plane changes its parts one by one.
//
//	go run ./examples/tree
//
// Two of the clusters stand behind an aggregate one. What is printed are the
// snapshots: each is complete, whatever the order in which the parts came.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tree:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to cancel
	}
}

func run(ctx context.Context, out io.Writer) error {
	server, err := controlplane.Start(messages()) //nolint:contextcheck // it ends with Stop
	if err != nil {
		return err
	}
	defer server.Stop()
	c, err := newClient(server.Addr())
	if err != nil {
		return err
	}
	defer c.Close()

	next, stop := iter.Pull(tree.Watch(ctx, c, listener.Type(), "web"))
	defer stop()
	for _, step := range steps() {
		fmt.Fprintf(out, "\n%s\n", step.what)
		if err := server.Update(step.resources); err != nil {
			return err
		}
		if step.incomplete {
			fmt.Fprintln(out, "  (no snapshot: something is not there yet)")
			continue
		}
		ev, ok := next()
		switch {
		case !ok:
			return errors.New("the watch has ended")
		case ev.Err != nil:
			return ev.Err
		}
		if err := show(out, ev.Update); err != nil {
			return err
		}
	}
	return nil
}

func newClient(server string) (*xdsforge.Client, error) {
	config, err := bootstrap.New(bootstrap.Spec{Servers: []bootstrap.ServerSpec{{
		URI: server, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}},
	}}})
	if err != nil {
		return nil, err
	}
	return xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register))
}

// show prints the parts of a snapshot, and what aggregate clusters come to.
func show(out io.Writer, s *tree.Snapshot) error {
	clusters := make(map[string]*cluster.Update)
	for r, state := range s.All() {
		fmt.Fprintf(out, "  %s", r)
		if state.Update != nil {
			fmt.Fprintf(out, "  version %s", state.Update.Version())
		}
		fmt.Fprintln(out)
		if u, ok := state.Update.(*cluster.Update); ok {
			clusters[u.Name().String()] = u
		}
	}
	for name, u := range clusters {
		if _, aggregate := u.Discovery.(cluster.Aggregate); !aggregate {
			continue
		}
		leaves, err := u.Leaves(func(name string) (*cluster.Update, error) {
			if leaf := clusters[name]; leaf != nil {
				return leaf, nil
			}
			return nil, fmt.Errorf("%s is not there", name)
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s is", name)
		for _, l := range leaves {
			fmt.Fprintf(out, " %s", l.Name())
		}
		fmt.Fprintln(out)
	}
	return nil
}

// A step is what the control plane publishes at once.
type step struct {
	what       string
	resources  map[string]proto.Message
	incomplete bool // some of what these refer to comes later
}
