package certprovider

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// FileWatcher is the plugin file_watcher, which reads certificates from files (gRFC
// A29), and SPIFFE bundles too (A87).
func FileWatcher() *resource.CertificateProvider {
	return &resource.CertificateProvider{
		Plugin: "file_watcher",
		Check: func(config json.RawMessage) error {
			_, err := ParseFiles(config)
			return err
		},
	}
}

// Files are the configuration of the plugin file_watcher: paths, some of them empty.
type Files struct {
	// Certificate and PrivateKey are the identity; both or none.
	Certificate, PrivateKey string
	// CA has the roots.
	CA string
	// SPIFFEBundle has the roots of several trust domains, and counts more than CA (A87).
	SPIFFEBundle string
	// Refresh is the time between two readings, more than 0; 10 minutes where the
	// configuration does not say it.
	Refresh time.Duration
}

// defaultRefresh is what grpc-go's plugin takes, too.
const defaultRefresh = 10 * time.Minute

// ParseFiles reads and validates the configuration of an instance. The error reads as what
// the instance does wrong.
func ParseFiles(config json.RawMessage) (Files, error) {
	var f struct {
		Certificate  string          `json:"certificate_file"`
		PrivateKey   string          `json:"private_key_file"`
		CA           string          `json:"ca_certificate_file"`
		SPIFFEBundle string          `json:"spiffe_trust_bundle_map_file"`
		Refresh      json.RawMessage `json:"refresh_interval"`
	}
	if err := json.Unmarshal(config, &f); err != nil {
		return Files{}, fmt.Errorf("has a configuration that cannot be read: %w", err)
	}
	if (f.Certificate == "") != (f.PrivateKey == "") {
		return Files{}, errors.New("has one of certificate_file and private_key_file; must have both or none (A29)")
	}
	if f.Certificate == "" && f.CA == "" && f.SPIFFEBundle == "" {
		return Files{}, errors.New("must have a certificate_file or a ca_certificate_file (A29)")
	}
	out := Files{f.Certificate, f.PrivateKey, f.CA, f.SPIFFEBundle, defaultRefresh}
	if f.Refresh != nil {
		d := new(durationpb.Duration)
		if err := protojson.Unmarshal(f.Refresh, d); err != nil {
			return Files{}, fmt.Errorf("has a refresh_interval that is no duration: %w", err)
		}
		if out.Refresh = d.AsDuration(); out.Refresh <= 0 {
			return Files{}, fmt.Errorf("has a refresh_interval of %v; must be more than 0s", out.Refresh)
		}
	}
	return out, nil
}
