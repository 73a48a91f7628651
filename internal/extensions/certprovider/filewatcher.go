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

// FileWatcher returns the plugin file_watcher, which reads certificates (gRFC A29) and
// SPIFFE bundles (A87) from files.
func FileWatcher() *resource.CertificateProvider {
	return &resource.CertificateProvider{
		Plugin: "file_watcher",
		Check: func(config json.RawMessage) error {
			_, err := ParseFiles(config)
			return err
		},
	}
}

// Files is the configuration of the plugin file_watcher. Paths can be empty.
type Files struct {
	// Certificate and PrivateKey are the files of the identity. Both or none are set.
	Certificate, PrivateKey string
	// CA is the file of the root certificates.
	CA string
	// SPIFFEBundle has the root certificates of several trust domains. It takes precedence
	// over CA (A87).
	SPIFFEBundle string
	// Refresh is the time between two reads. It is above 0. Default 10 minutes.
	Refresh time.Duration
}

// defaultRefresh is the default of grpc-go's plugin.
const defaultRefresh = 10 * time.Minute

// ParseFiles decodes and validates the configuration of an instance. The error text has the
// form "must …" or "has …", to follow the name of the instance.
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
