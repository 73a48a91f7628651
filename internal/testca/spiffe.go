package testca

import (
	"encoding/json"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// WriteBundles replaces a file with a map of SPIFFE bundles. It has the authorities of each trust domain.
func WriteBundles(path string, domains map[string][]*CA) error {
	all := make(map[string]json.RawMessage, len(domains))
	for name, authorities := range domains {
		domain, err := spiffeid.TrustDomainFromString(name)
		if err != nil {
			return err
		}
		b := spiffebundle.New(domain)
		for _, ca := range authorities {
			b.AddX509Authority(ca.Certificate)
		}
		if all[name], err = b.Marshal(); err != nil {
			return err
		}
	}
	content, err := json.Marshal(map[string]any{"trust_domains": all})
	if err != nil {
		return err
	}
	return Write(path, content)
}
