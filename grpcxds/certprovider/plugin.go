package certprovider

import (
	"encoding/json"
	"errors"

	"google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Plugin is a certificate provider plugin that runs.
type Plugin struct {
	// CertificateProvider names the plugin, and checks configurations.
	*resource.CertificateProvider
	// New starts a provider for an instance with a configuration that Check accepts. The
	// options say which certificate is wanted, and whether as identity or as roots: exactly
	// one of these. The provider is closed when nothing uses it any more. New is called
	// once for all that want the same of one instance, and concurrently for others.
	New func(config json.RawMessage, opts certprovider.BuildOptions) (certprovider.Provider, error)
}

// FromBuilder is the plugin that a builder of grpc-go's providers makes.
func FromBuilder(b certprovider.Builder) *Plugin {
	return &Plugin{
		CertificateProvider: &resource.CertificateProvider{
			Plugin: b.Name(),
			Check: func(config json.RawMessage) error {
				_, err := b.ParseConfig(config)
				return err
			},
		},
		New: func(config json.RawMessage, opts certprovider.BuildOptions) (certprovider.Provider, error) {
			c, err := b.ParseConfig(config)
			if err != nil {
				return nil, err
			}
			if c == nil {
				return nil, errors.New("certprovider: the builder made nothing of the configuration")
			}
			return c.Build(opts)
		},
	}
}
