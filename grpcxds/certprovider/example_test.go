package certprovider_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"

	grpccert "google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
)

// A vault has certificates.
type vault struct{}

func (vault) KeyMaterial(context.Context) (*grpccert.KeyMaterial, error) {
	return &grpccert.KeyMaterial{Roots: x509.NewCertPool()}, nil
}

func (vault) Close() {}

// A program can register its own plugin. Instances in the bootstrap refer to it by its name.
func ExamplePlugin() {
	p := certprovider.Plugin{
		CertificateProvider: &resource.CertificateProvider{
			Plugin: "vault",
			Check: func(config json.RawMessage) error {
				if !json.Valid(config) {
					return fmt.Errorf("has a configuration that is no JSON")
				}
				return nil
			},
		},
		New: func(json.RawMessage, grpccert.BuildOptions) (grpccert.Provider, error) { return vault{}, nil },
	}
	fmt.Println(p.Plugin, p.Check(json.RawMessage(`{`)))
	// Output: vault has a configuration that is no JSON
}
