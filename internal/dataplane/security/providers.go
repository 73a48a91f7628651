// Package security secures connections with the TLS that the control plane configures (gRFC A29).
// It runs the certificate providers and makes the TLS configuration of each handshake.
//
// [Providers] run one provider for each combination of bootstrap instance, kind and certificate
// that is in use. They close a provider after its last use. A [Server] is the TLS of one filter
// chain, a [Cluster] that of one cluster. Every handshake uses the current certificates of the
// providers, so that certificates change without dropping a connection. If a provider has no
// certificates yet, a handshake waits for them until its deadline.
package security

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	grpccert "google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
)

// Providers run certificate providers, each while it is in use. They are safe for concurrent use.
type Providers struct {
	instances map[string]bootstrap.CertificateProvider
	plugins   map[string]Plugin

	mu      sync.Mutex
	closed  bool
	running map[key]*provider
}

// A Plugin starts the providers of the bootstrap instances that name it. See the public type of the same name in
// grpcxds/certprovider.
type Plugin struct {
	*resource.CertificateProvider
	New func(config json.RawMessage, opts grpccert.BuildOptions) (grpccert.Provider, error)
}

// A key identifies a provider by its instance and use.
type key struct {
	tlscontext.Instance
	kind kind
}

// A kind is the use of a certificate.
type kind string

const (
	identity kind = "identity"
	roots    kind = "roots"
)

// A provider is a running provider, or the error of its start.
type provider struct {
	grpccert.Provider
	err  error
	uses int // guarded by Providers.mu
}

// NewProviders makes Providers without a running provider. It returns an error if two plugins have
// one name, or if a plugin lacks a half.
func NewProviders(b *bootstrap.Config, plugins []Plugin) (*Providers, error) {
	p := &Providers{
		instances: b.CertificateProviders(),
		plugins:   make(map[string]Plugin, len(plugins)),
		running:   make(map[key]*provider),
	}
	for _, plugin := range plugins {
		if plugin.CertificateProvider == nil || plugin.New == nil {
			return nil, errors.New("security: a certificate provider plugin needs CertificateProvider and New")
		}
		if _, twice := p.plugins[plugin.Plugin]; twice {
			return nil, fmt.Errorf("security: the certificate provider plugin %q is there twice", plugin.Plugin)
		}
		p.plugins[plugin.Plugin] = plugin
	}
	return p, nil
}

// Close closes all providers. Later handshakes that need one fail.
func (p *Providers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, r := range p.running {
		if r.err == nil {
			r.Close()
		}
	}
	p.running = nil
}

// A lease is one use of a provider. A nil lease uses none.
type lease struct {
	from *Providers
	key  key
	*provider
}

// acquire returns a lease of a provider, and starts the provider unless it runs. If the start
// fails, each use of the lease returns the error, so that no connection silently goes without
// certificates. The zero instance has a nil lease.
func (p *Providers) acquire(i tlscontext.Instance, k kind) *lease {
	if i == (tlscontext.Instance{}) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &lease{from: p, key: key{i, k}}
	if p.closed {
		l.provider = &provider{err: fmt.Errorf("security: the pool is %w", resource.ErrClosed)}
		return l
	}
	r, ok := p.running[l.key]
	if !ok {
		r = new(provider)
		if r.Provider, r.err = p.start(l.key); r.err != nil {
			r.err = fmt.Errorf("security: certificate provider instance %q: %w", i.Provider, r.err)
		}
		p.running[l.key] = r
	}
	r.uses++
	l.provider = r
	return l
}

func (p *Providers) start(k key) (grpccert.Provider, error) {
	instance, ok := p.instances[k.Provider]
	if !ok {
		return nil, errors.New("is not in the bootstrap")
	}
	plugin, ok := p.plugins[instance.PluginName]
	if !ok {
		return nil, fmt.Errorf("is of the plugin %q, which was not given", instance.PluginName)
	}
	return plugin.New(instance.Config, grpccert.BuildOptions{
		CertName: k.Certificate, WantIdentity: k.kind == identity, WantRoot: k.kind == roots,
	})
}

// release ends the use. The last release closes the provider.
func (l *lease) release() {
	if l == nil {
		return
	}
	p := l.from
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[l.key] != l.provider {
		return // Close has closed it
	}
	l.uses--
	if l.uses > 0 {
		return
	}
	delete(p.running, l.key)
	if l.err == nil {
		l.Close()
	}
}

// material returns the provider's certificates. It waits for them until the context is done.
func (l *lease) material(ctx context.Context) (*grpccert.KeyMaterial, error) {
	if l.err != nil {
		return nil, l.err
	}
	m, err := l.KeyMaterial(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("cannot provide: %w", err)
	case l.key.kind == identity && len(m.Certs) == 0:
		err = errors.New("has no certificate")
	case l.key.kind == roots && m.Roots == nil && m.SPIFFEBundleMap == nil:
		err = errors.New("has no roots")
	default:
		return m, nil
	}
	return nil, fmt.Errorf("security: certificate provider instance %q, %s: %w", l.key.Provider, l.key.kind, err)
}
