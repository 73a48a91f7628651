package grpcxds

import (
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/grpcxds/internal/routing"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

// NewClient is grpc.NewClient for a channel that control planes configure, if the target has the
// scheme xds (gRFCs A27, A28, A47, A74). It is the method of a zero [Dialer].
func NewClient(target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return Dialer{}.NewClient(target, opts...)
}

// WithCredentials is grpc.WithTransportCredentials with [ClientCredentials] of the fallback.
func WithCredentials(fallback credentials.TransportCredentials) grpc.DialOption {
	return grpc.WithTransportCredentials(ClientCredentials(fallback))
}

// A Dialer makes channels, as a net.Dialer makes connections. The zero Dialer is ready for use.
// Several goroutines may use one Dialer.
type Dialer struct {
	// Env is the environment of the channel. It must have the types and extensions of
	// [Register]. Nil is the default Env of the bootstrap that the environment variables name when
	// the channel is made (gRFC A27). Channels and servers with the same bootstrap share it.
	Env *xdsforge.Env
	// DisableRetries disables retries, including those that the control plane configures (gRFC
	// A44). grpc.WithDisableRetry disables only those that gRPC makes: transparent ones, and those of virtual hosts whose
	// routes have the same retry policy.
	DisableRetries bool
	// Logger is where the channel logs. Nil is the logger of Env, or slog.Default() if Env has
	// none. The xDS client of the channel uses the logger of Env.
	Logger *slog.Logger
}

// NewClient makes a channel. The channel takes its routes, clusters and endpoints from control
// planes. It connects when it is first used.
//
// It returns an error if the target is invalid, if the bootstrap is missing or invalid or lacks
// the authority of the target, or if Env is closed.
//
// A target with another scheme goes to grpc.NewClient unchanged, and needs no bootstrap.
//
// Interceptors of the options see a call before it is routed, so they can choose its route.
func (d Dialer) NewClient(target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	if scheme, _, ok := strings.Cut(target, ":"); !ok || !strings.EqualFold(scheme, "xds") {
		return grpc.NewClient(target, opts...)
	}
	s := &source{env: d.Env}
	config, err := s.bootstrap()
	if err != nil {
		return nil, err
	}
	if _, err := listenerFor(config, target); err != nil {
		return nil, err
	}
	cc, err := grpc.NewClient(target, append(slices.Clip(opts), d.options(s)...)...)
	if err != nil {
		return nil, fmt.Errorf("grpcxds: %w", err)
	}
	return cc, nil
}

// DialOptions returns the options with which grpc.NewClient makes the channel that
// [Dialer.NewClient] makes. They must be the last ones, so that their interceptors see the
// effects of all others:
//
//	grpc.NewClient("xds:///checkout", append(mine, grpcxds.Dialer{}.DialOptions()...)...)
//
// A result is for one ClientConn. A second ClientConn returns errors while the first is open. If
// the target or the bootstrap is invalid, the first calls return the error.
func (d Dialer) DialOptions() []grpc.DialOption { return d.options(&source{env: d.Env}) }

// options returns the options of one channel.
func (d Dialer) options(s *source) []grpc.DialOption {
	c := routing.NewInterceptors()
	if d.DisableRetries {
		c.DisableRetries()
	}
	return []grpc.DialOption{
		grpc.WithResolvers(&builder{source: s, logger: d.Logger, interceptors: c}),
		grpc.WithChainUnaryInterceptor(c.Unary),
		grpc.WithChainStreamInterceptor(c.Stream),
	}
}

// RegisterResolver registers the scheme "xds" for all channels of the process, including those that other packages
// dial without options of this package. It calls resolver.Register, so call it before any channel is made. The last
// resolver that is registered for the scheme counts.
//
// Without the interceptors of [Dialer.DialOptions], the channel routes calls when it load-balances them. Such calls
// have no timeouts or retries of the control plane, and fail if they must pass HTTP filters. Channels that have the
// interceptors are not affected.
func (d Dialer) RegisterResolver() { resolver.Register(global{d}) }

// global makes the resolvers of channels that have no interceptors.
type global struct{ Dialer }

// Scheme implements [resolver.Builder].
func (global) Scheme() string { return "xds" }

// OverrideAuthority implements [resolver.AuthorityOverrider].
func (global) OverrideAuthority(t resolver.Target) string {
	return (*builder)(nil).OverrideAuthority(t)
}

// Build implements [resolver.Builder].
func (g global) Build(t resolver.Target, cc resolver.ClientConn, o resolver.BuildOptions) (resolver.Resolver, error) {
	b := &builder{source: &source{env: g.Env}, logger: g.Logger, interceptors: routing.NewInterceptors(), resolverOnly: true}
	return b.Build(t, cc, o)
}

var _ resolver.AuthorityOverrider = (*builder)(nil)

// OverrideAuthority implements [resolver.AuthorityOverrider]. The data-plane authority is the whole path of the
// target, escaped (gRFC A47).
func (*builder) OverrideAuthority(t resolver.Target) string {
	path := t.URL.Path
	if path == "" {
		path = t.URL.Opaque
		if p, err := url.PathUnescape(path); err == nil {
			path = p
		}
	}
	return xdstp.EncodeAuthority(strings.TrimPrefix(path, "/"))
}

// listenerFor returns the name of the Listener of a target (gRFC A47). The target is invalid if the bootstrap has no
// servers for that name, or if the template makes names of another type.
func listenerFor(c *bootstrap.Config, target string) (xdstp.Name, error) {
	name, err := c.ClientListenerName(target)
	if err == nil {
		err = xdsconfig.CheckListener(c, name)
	}
	if err != nil {
		return name, fmt.Errorf("grpcxds: target %q: %w", target, err)
	}
	return name, nil
}
