package certprovider

import (
	"encoding/json"
	"errors"
	"path/filepath"

	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/credentials/tls/certprovider/pemfile"

	config "github.com/xdsforge/xdsforge/internal/extensions/certprovider"
)

// FileWatcher returns the plugin file_watcher. It reads certificates and roots from files periodically (gRFC A29),
// and SPIFFE bundle maps instead of roots (A87). If a file cannot be read, the last contents stay in use. Identity
// and roots of an instance do not wait for each other. As in all of gRPC, certificate and key must be in one
// directory.
func FileWatcher() *Plugin {
	half := config.FileWatcher()
	half.Check = func(raw json.RawMessage) error {
		_, err := parse(raw)
		return err
	}
	return &Plugin{CertificateProvider: half, New: watch}
}

func parse(raw json.RawMessage) (config.Files, error) {
	f, err := config.ParseFiles(raw)
	if err == nil && f.Certificate != "" && filepath.Dir(f.Certificate) != filepath.Dir(f.PrivateKey) {
		err = errors.New("has certificate_file and private_key_file in two directories; must have them in one")
	}
	return f, err
}

func watch(raw json.RawMessage, opts certprovider.BuildOptions) (certprovider.Provider, error) {
	f, err := parse(raw)
	if err != nil {
		return nil, err
	}
	o := pemfile.Options{RefreshDuration: f.Refresh}
	if opts.WantIdentity {
		if f.Certificate == "" {
			return nil, errors.New("has no certificate_file, which is wanted as identity")
		}
		o.CertFile, o.KeyFile = f.Certificate, f.PrivateKey
	}
	if opts.WantRoot {
		if f.CA == "" && f.SPIFFEBundle == "" {
			return nil, errors.New("has neither ca_certificate_file nor spiffe_trust_bundle_map_file, which is wanted as roots")
		}
		o.RootFile, o.SPIFFEBundleMapFile = f.CA, f.SPIFFEBundle
	}
	return pemfile.NewProvider(o)
}
