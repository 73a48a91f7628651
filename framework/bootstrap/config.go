package bootstrap

import (
	"fmt"
	"maps"
	"os"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
)

// Config is a bootstrap configuration that was found valid. It is immutable; what
// its methods return belongs to the caller.
type Config struct {
	federation     bool
	node           *corev3.Node
	servers        []*Server
	authorities    map[string]Authority
	clientTemplate string
	serverTemplate string // "" if not set
	providers      map[string]CertificateProvider
	keys           map[string]bool // of all servers
	options        options         // that it was read with
}

// Authority is what a client needs to know of one authority (gRFC A47).
type Authority struct {
	// Name is the decoded name; "" is the empty authority.
	Name string
	// Servers are those of the authority, or the top-level ones if it has none,
	// most preferred first (A71).
	Servers []*Server
	// ClientListenerTemplate makes listener names for targets with this authority.
	ClientListenerTemplate string
}

// Load reads the bootstrap that the environment names: the file at the path in
// GRPC_XDS_BOOTSTRAP or, if that is not set, the content of
// GRPC_XDS_BOOTSTRAP_CONFIG. If neither is set, the error is [ErrNotConfigured].
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

// New makes a configuration of plain values, as strictly as [Parse]. It keeps
// nothing of spec: that may be changed afterwards.
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

// Node returns a copy of the node in the bootstrap, which is empty if there is
// none. It is for the client to add its user agent and features (gRFC A27).
func (c *Config) Node() *corev3.Node { return proto.CloneOf(c.node) }

// Servers returns the top-level servers, most preferred first (gRFC A71). There
// may be none if every authority has its own.
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

// Federation reports whether gRFC A47 is supported: whether names that start with
// "xdstp:" are new-style names.
func (c *Config) Federation() bool { return c.federation }

// CertificateProvider finds a plugin instance by its name. Nobody may change its
// Config.
func (c *Config) CertificateProvider(name string) (CertificateProvider, bool) {
	p, ok := c.providers[name]
	return p, ok
}

// CertificateProviders returns a copy of the plugin instances by their names (gRFC
// A29). They are as they are in the file: nothing but their form was checked.
func (c *Config) CertificateProviders() map[string]CertificateProvider {
	providers := maps.Clone(c.providers)
	for name, provider := range providers {
		provider.Config = slices.Clone(provider.Config)
		providers[name] = provider
	}
	return providers
}

// HasServer reports whether a server with the key of s is anywhere in the
// bootstrap. Load reports may go to such servers only, so that no control plane can
// make a client send its credentials elsewhere (gRFC A47).
func (c *Config) HasServer(s *Server) bool { return s != nil && c.keys[s.key] }

// Key identifies the content: two configurations have the same key if a program cannot tell
// them apart. It covers servers by [Server.Key], node, authorities, templates, certificate
// providers, and the options that the configuration was read with, such as the support of
// federation (gRFC A47). The key is a digest: it reveals no configuration.
func (c *Config) Key() string { return c.key() }

// String describes the configuration for people, without any credentials.
func (c *Config) String() string {
	return fmt.Sprintf("servers %v, authorities %q, federation %t", c.servers, c.Authorities(), c.federation)
}

func (c *Config) addKeys(servers []*Server) {
	for _, s := range servers {
		c.keys[s.key] = true
	}
}
