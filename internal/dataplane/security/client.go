package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/tlscontext"
)

// A Cluster is the TLS of the connections of one cluster. Update replaces it when the cluster
// changes. It is safe for concurrent use.
type Cluster struct {
	providers *Providers
	current   atomic.Pointer[client]

	mu     sync.Mutex // guards Update and Close
	closed bool
}

// A client is the TLS of one version of a cluster.
type client struct {
	*tlscontext.Client
	identity, roots *lease
}

// Cluster makes the TLS of a cluster. Before the first Update, connections use the fallback.
func (p *Providers) Cluster() *Cluster { return &Cluster{providers: p} }

// Update sets the TLS of new connections; nil: the fallback. Existing connections do not change. A
// provider that cannot be started makes handshakes fail.
func (c *Cluster) Update(t *tlscontext.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	var next *client
	if t != nil {
		next = &client{Client: t, identity: c.providers.acquire(t.Identity, identity), roots: c.providers.acquire(t.Roots, roots)}
	}
	c.current.Swap(next).release()
}

// Close releases the providers. Later handshakes may fail.
func (c *Cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.current.Load().release()
	}
}

func (c *client) release() {
	if c != nil {
		c.identity.release()
		c.roots.release()
	}
}

// clusterKey is the attribute of an address with its cluster and the hostname of its endpoint.
type clusterKey struct{}

type secured struct {
	cluster  *Cluster
	hostname string
}

// Equal reports whether connections use the same TLS. gRPC distinguishes addresses by it.
func (s secured) Equal(o any) bool { return s == o }

// WithCluster returns the address with the TLS of its cluster. hostname is that of the endpoint, or
// the name and port of a LOGICAL_DNS cluster. It is empty if there is none (A101).
func WithCluster(a resolver.Address, c *Cluster, hostname string) resolver.Address {
	a.Attributes = a.Attributes.WithValue(clusterKey{}, secured{c, hostname})
	return a
}

// ClientTLS returns the TLS of a handshake with an address of these attributes. It waits for
// certificates until the context is done. It returns nil if the control plane did not configure
// TLS, so that the fallback is used. ServerName is the name to send (SNI). It is empty for none.
func ClientTLS(ctx context.Context, a *attributes.Attributes) (*tls.Config, error) {
	s, ok := a.Value(clusterKey{}).(secured)
	if !ok {
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	for {
		current := s.cluster.current.Load()
		if current == nil {
			return nil, nil //nolint:nilnil // no TLS is no error
		}
		config, err := current.config(ctx, s.hostname)
		if err == nil || ctx.Err() != nil || s.cluster.current.Load() == current {
			return config, err
		}
	}
}

// config returns the TLS of one handshake, with the newest certificates. It replaces the usual
// verification, which verifies a hostname (A29).
func (c *client) config(ctx context.Context, hostname string) (*tls.Config, error) {
	out := &tls.Config{InsecureSkipVerify: true, ServerName: c.sni(hostname), MinVersion: tls.VersionTLS12} //nolint:gosec // VerifyConnection does it
	v := verifier{usage: x509.ExtKeyUsageServerAuth, names: matchSANs(c.SANs)}
	if c.AutoSNISANValidation && out.ServerName != "" {
		v.names = matchName(out.ServerName)
	}
	switch {
	case c.roots != nil:
		var err error
		if v.material, err = c.roots.material(ctx); err != nil {
			return nil, err
		}
	case !c.SystemRoots:
		return nil, errors.New("security: the cluster has no roots to verify servers by (A29)")
	}
	if c.identity != nil {
		m, err := c.identity.material(ctx)
		if err != nil {
			return nil, err
		}
		out.Certificates = m.Certs
	}
	out.VerifyConnection = v.verify
	return out, nil
}

// sni returns the name to send (A101): the endpoint's hostname without its port, if the cluster
// says so, or the cluster's SNI. It never returns an IP address (RFC 6066 section 3).
func (c *client) sni(hostname string) string {
	if host, _, err := net.SplitHostPort(hostname); err == nil {
		hostname = host
	}
	isName := func(s string) bool { return s != "" && net.ParseIP(s) == nil }
	switch {
	case c.AutoHostSNI && isName(hostname):
		return hostname
	case isName(c.SNI):
		return c.SNI
	default:
		return ""
	}
}
