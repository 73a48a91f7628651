package xdsctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// connFlags are the flags of commands that read the CSDS of processes.
type connFlags struct {
	dialer  world.Dialer
	timeout time.Duration
	scope   string
}

func (f *connFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.scope, "scope", "", "look only at the xDS client with this `scope`: the target of a channel, #server, or a name")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "give up after this `time`; default: 10s for a process, 35s for a resource of a control plane")
	c.Flags().BoolVar(&f.dialer.TLS, "tls", false, "connect with TLS")
	c.Flags().StringVar(&f.dialer.CA, "ca", "", "trust the certificates in this PEM `file`; implies --tls")
	c.Flags().StringVar(&f.dialer.Cert, "cert", "", "present the certificate in this PEM `file`; implies --tls")
	c.Flags().StringVar(&f.dialer.Key, "key", "", "the key of --cert, a PEM `file`")
	c.Flags().StringVar(&f.dialer.ServerName, "server-name", "", "expect this `name` in the server's certificate")
}

// errNoScope is the error if no client has the wanted scope.
var errNoScope = errors.New("no client")

// fetch returns the clients of a process, those of the wanted scope.
func (f *connFlags) fetch(ctx context.Context, c *world.Client, contents bool) ([]world.Process, error) {
	all, err := c.Fetch(ctx, contents)
	if err != nil || f.scope == "" {
		return all, err
	}
	var list []world.Process
	var known []string
	for _, p := range all {
		known = append(known, p.Scope)
		if p.Scope == f.scope {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--scope = %q; must be one of %q: %w", f.scope, known, errNoScope)
	}
	return list, nil
}

// process returns the resources of a process.
func (f *connFlags) process(ctx context.Context, addr string) ([]world.Process, error) {
	c, err := f.dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return f.fetchOne(ctx, c, true)
}

// fetchOne is fetch with the exit code of its error.
func (f *connFlags) fetchOne(ctx context.Context, c *world.Client, contents bool) ([]world.Process, error) {
	list, err := f.fetch(ctx, c, contents)
	switch {
	case errors.Is(err, errNoScope):
		return nil, rejected("%w", err)
	case err != nil:
		return nil, unreachable("%w", err)
	}
	return list, nil
}

// The default limits of time. That of a control plane is longer than the does-not-exist timers of
// gRFC A57 and A88, 15 s and 30 s.
const (
	processTimeout = 10 * time.Second
	planeTimeout   = 35 * time.Second
)

func (f *connFlags) dial(addr string) (*world.Client, error) {
	d := f.dialer
	d.Timeout = cmp.Or(f.timeout, processTimeout)
	return d.Dial(addr)
}
