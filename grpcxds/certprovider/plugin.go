package certprovider

import (
	"encoding/json"
	"errors"

	"google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Plugin is a certificate provider plugin that runs.
type Plugin struct {
	// CertificateProvider names the plugin and checks configurations.
	*resource.CertificateProvider
	// New starts a provider for an instance with a configuration that Check accepts. The options select a
	// certificate, and exactly one use of it: identity or roots. The provider is closed when it is no longer used.
	// New is called once for equal options of one instance. Calls for different options or instances may be
	// concurrent.
	New func(config json.RawMessage, opts certprovider.BuildOptions) (certprovider.Provider, error)
}

// FromBuilder returns a plugin that uses a builder of grpc-go's providers.
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
				return nil, errors.New("certprovider: the builder's ParseConfig returned nil without an error")
			}
			return c.Build(opts)
		},
	}
}
