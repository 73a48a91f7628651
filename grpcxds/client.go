package grpcxds

import (
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds/internal/routing"
)

// NewClient is grpc.NewClient for targets with the scheme xds: a channel that takes its
// routes, clusters and endpoints from control planes (gRFCs A27, A28, A47, A74). Beside
// gRPC's own options it takes those of this package, such as [DialPool]. It connects when
// it is first used.
//
// A target that is not one, or whose authority the bootstrap does not have, is an error, as
// a missing or invalid bootstrap is; see [NewPool].
//
// Where users' interceptors want to choose routes by what they do to a call, that works:
// those of this package come after them.
func NewClient(target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	d := dialingOf(opts)
	p, err := d.own()
	if err != nil {
		return nil, err
	}
	_, err = listenerFor(p, target)
	if d.pool == nil {
		d.config = p.config // what it said now is what counts
		_ = p.Close()       // nothing was connected
	}
	if err != nil {
		return nil, err
	}
	cc, err := grpc.NewClient(target, append(slices.Clip(opts), d.options()...)...)
	if err != nil {
		return nil, fmt.Errorf("grpcxds: %w", err)
	}
	return cc, nil
}

// DialOptions are what makes a grpc.ClientConn one that [NewClient] would make, for those
// who dial themselves. Of the given options it takes those of this package, such as
// [DialPool]; the others are among the results. They must stand last, so that their
// interceptors see what all others do to a call:
//
//	grpc.NewClient("xds:///checkout", append(mine, grpcxds.DialOptions()...)...)
//
// A result is for one ClientConn. Another that is open at the same time gets errors; one
// that is opened when the first is closed does not. Whatever is wrong with the target or
// with the bootstrap is the error of the first calls.
func DialOptions(opts ...grpc.DialOption) []grpc.DialOption {
	return append(slices.Clip(opts), dialingOf(opts).options()...)
}

// A dialOption is an option of this package, which grpc.NewClient would pass over.
type dialOption struct {
	grpc.EmptyDialOption
	set func(*dialing)
}

// DialPool has a channel use a pool, which the channel does not close. Without it, a
// channel has one of its own. Nil is a no-op.
func DialPool(p *Pool) grpc.DialOption {
	return dialOption{set: func(d *dialing) { d.pool = p }}
}

// DialWithoutRetries has calls not be made again, whatever the control plane says (gRFC
// A44). It is to be given beside grpc.WithDisableRetry, which tells nobody but gRPC.
func DialWithoutRetries() grpc.DialOption {
	return dialOption{set: func(d *dialing) { d.noRetries = true }}
}

// A dialing is what options of this package say.
type dialing struct {
	pool      *Pool
	config    *bootstrap.Config // of the channel's own pools; nil: what the environment names
	noRetries bool
}

func dialingOf(opts []grpc.DialOption) *dialing {
	d := &dialing{}
	for _, o := range opts {
		if o, ok := o.(dialOption); ok {
			o.set(d)
		}
	}
	return d
}

// own is the pool that was given, or one of the channel's own.
func (d *dialing) own() (*Pool, error) {
	if d.pool != nil {
		return d.pool, nil
	}
	return NewPool(WithBootstrap(d.config))
}

// options are those of one channel.
func (d *dialing) options() []grpc.DialOption {
	c := routing.NewChannel()
	if d.noRetries {
		c.DisableRetries()
	}
	return []grpc.DialOption{
		grpc.WithResolvers(&builder{dialing: d, channel: c}),
		grpc.WithChainUnaryInterceptor(c.Unary),
		grpc.WithChainStreamInterceptor(c.Stream),
	}
}

var _ resolver.AuthorityOverrider = (*builder)(nil)
