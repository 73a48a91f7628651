package gcpauthn

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/printable"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/gcpauthn"
)

// A Token is an identity token.
type Token struct {
	// Value is the token as calls send it, without "Bearer ".
	Value string
	// Expiry is the time at which the token expires. The filter stops using the token 30 s earlier. A token without that
	// time left is an error with the status UNAUTHENTICATED.
	Expiry time.Time
}

// A TokenSource fetches a token for an audience. An error with the status UNAUTHENTICATED ends the waiting calls with
// it, and any other error ends them with UNAVAILABLE. The filter calls the source once at a time for an audience, and
// backs off after errors. The context ends after 30 s, and when the filter is closed.
type TokenSource func(ctx context.Context, audience string) (Token, error)

// Filter returns the filter. A nil source is the metadata server of GCP, or that of the environment variable
// GCE_METADATA_HOST (a host, or a host and a port), which Filter reads. The filter fetches a token with the first call
// to an audience, and again with a call in the last minute of the token. Tokens survive updates. gRPC fails calls with
// UNAUTHENTICATED that would send a token over an insecure connection.
func Filter(source TokenSource) *httpfilter.Filter {
	if source == nil {
		source = environmentServer()
	}
	return &httpfilter.Filter{
		HTTPFilter: config.Filter(),
		NewClient: func(h httpfilter.Host) (httpfilter.ClientInstance, error) {
			return &instance{host: h, cache: newCache(source)}, nil
		},
	}
}

// An instance has the tokens of one entry of a channel's list of filters.
type instance struct {
	host  httpfilter.Host
	cache *cache
}

// Interceptor implements [httpfilter.ClientInstance]. It ignores overrides (A83).
func (i *instance) Interceptor(c, _ any) (httpfilter.ClientInterceptor, error) {
	read, ok := c.(config.Config)
	if !ok {
		return nil, fmt.Errorf("gcpauthn: the configuration is a %T; must be one that the filter has read", c)
	}
	i.cache.resize(read.CacheSize)
	return httpfilter.ClientBefore(i.before), nil
}

// Close implements [httpfilter.ClientInstance].
func (i *instance) Close() { i.cache.close() }

// before adds the credentials of the cluster's audience to a call.
func (i *instance) before(ctx context.Context, call *httpfilter.ClientCall) (context.Context, error) {
	if call.Cluster == "" {
		return ctx, nil // of a cluster specifier plugin
	}
	u, err := i.host.Cluster(call.Cluster)
	if err != nil {
		return ctx, status.Errorf(codes.Unavailable, "gcpauthn: cluster %s: %s", label(call.Cluster), printable.Error(err))
	}
	m, ok := u.Metadata[i.host.Name]
	if !ok {
		return ctx, nil
	}
	audience, ok := m.Value.(config.Audience)
	if !ok {
		return ctx, status.Errorf(codes.Unavailable, "gcpauthn: cluster %s: metadata %s is a %s; must be an Audience",
			label(call.Cluster), label(i.host.Name), printable.Text(m.Message, printable.Short))
	}
	call.AddOptions(grpc.PerRPCCredentials(i.cache.get(audience.URL)))
	return ctx, nil
}

func label(name string) string { return printable.Quote(name, printable.Short) }
