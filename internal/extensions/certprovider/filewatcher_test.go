package certprovider

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// The provider validates configurations of file_watcher when it decodes them.
func TestCheckFiles(t *testing.T) {
	for config, want := range map[string]string{
		`{"spiffe_trust_bundle_map_file": "b"}`:              "",
		`{"certificate_file": "c", "private_key_file": "k"}`: "",
		`{}`: "must have a certificate_file or a ca_certificate_file (A29)",
		``:   "has a configuration that cannot be read: ",
		`{"private_key_file": "k", "ca_certificate_file": "a"}`:    "must have both or none (A29)",
		`{"ca_certificate_file": "a", "refresh_interval": "soon"}`: "has a refresh_interval that is no duration: ",
		`{"ca_certificate_file": "a", "refresh_interval": "-1s"}`:  "has a refresh_interval of -1s; must be more than 0s",
		`{"ca_certificate_file": "a", "refresh_interval": "0s"}`:   "has a refresh_interval of 0s; must be more than 0s",
	} {
		err := FileWatcher().Check(json.RawMessage(config))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", config, err, want)
		}
	}
}

func TestParseFiles(t *testing.T) {
	got, err := ParseFiles(json.RawMessage(`{
		"certificate_file": "c", "private_key_file": "k", "ca_certificate_file": "a", "spiffe_trust_bundle_map_file": "b",
		"refresh_interval": "1.5s"
	}`))
	if want := (Files{"c", "k", "a", "b", 1500 * time.Millisecond}); got != want || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	got, err = ParseFiles(json.RawMessage(`{"ca_certificate_file": "a"}`))
	if want := (Files{CA: "a", Refresh: 10 * time.Minute}); got != want || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
