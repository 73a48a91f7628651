package certprovider

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheckFiles(t *testing.T) {
	for config, want := range map[string]string{
		`{"spiffe_trust_bundle_map_file": "b"}`:              "",
		`{"certificate_file": "c", "private_key_file": "k"}`: "",
		`{}`: "must have a certificate_file or a ca_certificate_file (A29)",
		``:   "has a configuration that cannot be read: ",
		`{"private_key_file": "k", "ca_certificate_file": "a"}`:    "must have both or none (A29)",
		`{"ca_certificate_file": "a", "refresh_interval": "soon"}`: "has a refresh_interval that is no duration: ",
	} {
		err := checkFiles(json.RawMessage(config))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", config, err, want)
		}
	}
}
