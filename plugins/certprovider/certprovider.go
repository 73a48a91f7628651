package certprovider

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// FileWatcher is the plugin file_watcher, which reads certificates from files (gRFC
// A29), and SPIFFE bundles too (A87).
func FileWatcher() *resource.CertificateProvider {
	return &resource.CertificateProvider{Plugin: "file_watcher", Check: checkFiles}
}

// files is the configuration of file_watcher.
type files struct {
	Certificate  string          `json:"certificate_file"`
	PrivateKey   string          `json:"private_key_file"`
	CA           string          `json:"ca_certificate_file"`
	SPIFFEBundle string          `json:"spiffe_trust_bundle_map_file"`
	Refresh      json.RawMessage `json:"refresh_interval"`
}

func checkFiles(config json.RawMessage) error {
	var f files
	if err := json.Unmarshal(config, &f); err != nil {
		return fmt.Errorf("has a configuration that cannot be read: %w", err)
	}
	if (f.Certificate == "") != (f.PrivateKey == "") {
		return errors.New("has one of certificate_file and private_key_file; must have both or none (A29)")
	}
	if f.Certificate == "" && f.CA == "" && f.SPIFFEBundle == "" {
		return errors.New("must have a certificate_file or a ca_certificate_file (A29)")
	}
	if f.Refresh != nil {
		if err := protojson.Unmarshal(f.Refresh, new(durationpb.Duration)); err != nil {
			return fmt.Errorf("has a refresh_interval that is no duration: %w", err)
		}
	}
	return nil
}
