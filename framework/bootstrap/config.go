package bootstrap

import (
	"fmt"
	"maps"
	"os"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
)

// Config is a valid bootstrap configuration. It is immutable. The caller owns the results of its
// methods.
type Config struct {
	federation     bool
	node           *corev3.Node
	servers        []*Server
	authorities    map[string]Authority
	clientTemplate string
	serverTemplate string // "" if not set
	providers      map[string]CertificateProvider
	services       map[string]*Server // allowed_grpc_services, by target
	keys           map[string]bool    // of all servers
	options        options            // that it was read with
	lastKnownGood  *LastKnownGood     // nil if not set
}

// Authority is the configuration of one authority (gRFC A47).
type Authority struct {
	// Name is the decoded name; "" is the empty authority.
	Name string
	// Servers are the servers of the authority, or the top-level ones if it has none. The most
	// preferred server is first (A71).
	Servers []*Server
	// ClientListenerTemplate makes listener names for targets with this authority.
	ClientListenerTemplate string
	// FallbackOnReachabilityOnly falls back as soon as the client cannot reach a server, even if all
	// resources are cached (A95).
	FallbackOnReachabilityOnly bool
}

// Load reads the bootstrap from the environment: the file at the path in GRPC_XDS_BOOTSTRAP or, if
// that is not set, the content of GRPC_XDS_BOOTSTRAP_CONFIG. If neither is set, the error is
// [ErrNotConfigured].
func Load(opts ...Option) (*Config, error) {
	if path := os.Getenv(EnvFile); path != "" {
		return loadFile(EnvFile+"="+path, path, opts)
	}
	if content := os.Getenv(EnvContent); content != "" {
		return parse(EnvContent, []byte(content), opts)
	}
	return nil, ErrNotConfigured
}

// LoadFile reads the bootstrap file at path.
func LoadFile(path string, opts ...Option) (*Config, error) {
	return loadFile(path, path, opts)
}

// Parse reads the content of a bootstrap file.
func Parse(data []byte, opts ...Option) (*Config, error) {
	return parse("", data, opts)
}

// New returns the configuration of spec. It validates as strictly as [Parse]. It keeps no reference
// to spec, so the caller may change it afterwards.
func New(spec Spec, opts ...Option) (*Config, error) {
	var p problems
	return build(&p, spec, newOptions(opts)), p.err()
}

func loadFile(source, path string, opts []Option) (*Config, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %s: %w", source, err)
	}
	return parse(source, data, opts)
}

func parse(source string, data []byte, opts []Option) (*Config, error) {
	p := problems{source: source}
	o := newOptions(opts)
	spec := decodeSpec(&p, data, o.federation)
	return build(&p, spec, o), p.err()
}

// Node returns a copy of the bootstrap's node, which is empty if there is none. The client adds its
// user agent and features (gRFC A27).
func (c *Config) Node() *corev3.Node { return proto.CloneOf(c.node) }

// Servers returns the top-level servers, most preferred first (gRFC A71). It may be empty if every
// authority has its own servers.
func (c *Config) Servers() []*Server { return slices.Clone(c.servers) }

// Authorities returns the names of all authorities, decoded and sorted.
func (c *Config) Authorities() []string { return slices.Sorted(maps.Keys(c.authorities)) }

// Authority returns the authority with this decoded name.
func (c *Config) Authority(name string) (*Authority, bool) {
	a, ok := c.authorities[name]
	if !ok {
		return nil, false
	}
	a.Servers = slices.Clone(a.Servers)
	return &a, true
}

// Federation reports whether gRFC A47 is on. If so, names that start with "xdstp:" are new-style
// names.
func (c *Config) Federation() bool { return c.federation }

// CertificateProvider returns the plugin instance with this name. Nobody may change its Config.
func (c *Config) CertificateProvider(name string) (CertificateProvider, bool) {
	p, ok := c.providers[name]
	return p, ok
}

// CertificateProviders returns a copy of the plugin instances by their names (gRFC A29). This
// package checks only their form.
func (c *Config) CertificateProviders() map[string]CertificateProvider {
	providers := maps.Clone(c.providers)
	for name, provider := range providers {
		provider.Config = slices.Clone(provider.Config)
		providers[name] = provider
	}
	return providers
}

// HasServer reports whether the bootstrap contains a server with the key of s. The client reports
// load only to such servers, so that no control plane can make it send its credentials elsewhere
// (gRFC A47).
func (c *Config) HasServer(s *Server) bool { return s != nil && c.keys[s.key] }

// Key identifies the content: two configurations have the same key if a program cannot tell
// them apart. It covers servers by [Server.Key], node, authorities, templates, certificate
// providers, and the options that the configuration was read with, such as the support of
// federation (gRFC A47). The key is a digest: it reveals no configuration.
func (c *Config) Key() string { return c.key() }

// String returns a description for people, without any credentials.
func (c *Config) String() string {
	return fmt.Sprintf("servers %v, authorities %q, federation %t", c.servers, c.Authorities(), c.federation)
}

func (c *Config) addKeys(servers []*Server) {
	for _, s := range servers {
		c.keys[s.key] = true
	}
}
