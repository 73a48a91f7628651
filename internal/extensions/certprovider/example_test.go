package certprovider_test

import (
	"encoding/json"
	"fmt"

	"github.com/xdsforge/xdsforge/internal/extensions/certprovider"
)

func ExampleFileWatcher() {
	p := certprovider.FileWatcher()
	fmt.Println(p.Plugin)
	fmt.Println(p.Check(json.RawMessage(`{"ca_certificate_file": "ca.pem", "refresh_interval": "600s"}`)))
	fmt.Println(p.Check(json.RawMessage(`{"certificate_file": "cert.pem"}`)))
	// Output:
	// file_watcher
	// <nil>
	// has one of certificate_file and private_key_file; must have both or none (A29)
}
