package server

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/internal/testca"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// The description of certificates has the parts that the settings name, in Envoy's order. No value ends early.
func TestDescribe(t *testing.T) {
	ca, err := testca.New("ca")
	if err != nil {
		t.Fatal(err)
	}
	client, err := ca.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: `a";URI=x`}, DNSNames: []string{`d";URI=x`},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "mesh", Path: "/a"}, {Scheme: "spiffe", Opaque: `b";By=x\`}},
	})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(client.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	certs := []*x509.Certificate{leaf, ca.Certificate}
	escaped := func(c *x509.Certificate) string {
		text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
		return strings.NewReplacer("\n", "%0A", " ", "%20", "+", "%2B", "/", "%2F", "=", "%3D").Replace(text)
	}
	hash := fmt.Sprintf("Hash=%x", sha256.Sum256(leaf.Raw))
	for _, tt := range []struct {
		by      string
		details listener.ClientCertDetails
		want    string
	}{
		{"", listener.ClientCertDetails{}, hash},
		{"spiffe://mesh/server", listener.ClientCertDetails{Cert: true}, "By=spiffe://mesh/server;" + hash + `;Cert="` + escaped(leaf) + `"`},
		{"", listener.ClientCertDetails{Chain: true}, hash + `;Chain="` + escaped(leaf) + escaped(ca.Certificate) + `"`},
		{
			"",
			listener.ClientCertDetails{Subject: true, URI: true, DNS: true, Issuer: true},
			hash + `;Subject="CN=a\"\;URI=x";URI=spiffe://mesh/a;URI="spiffe:b%22;By=x%5C";DNS="d%22;URI=x";Issuer="CN=ca"`,
		},
	} {
		if got := describe(tt.by, certs, tt.details); got != tt.want {
			t.Errorf("%+v:\n%s; want\n%s", tt.details, got, tt.want)
		}
	}
	bare := describe("", []*x509.Certificate{{}}, listener.ClientCertDetails{URI: true, DNS: true})
	if !strings.HasSuffix(bare, ";URI=") {
		t.Errorf("a certificate without names is %s; want an empty URI", bare)
	}
}

// The server's certificate may have no URI, or may not be parsed.
func TestFirstURI(t *testing.T) {
	uris := []*url.URL{{Scheme: "spiffe", Host: "a"}, {Scheme: "spiffe", Host: "b"}}
	for _, tt := range []struct {
		certificates []tls.Certificate
		want         string
	}{
		{nil, ""},
		{[]tls.Certificate{{}}, ""},
		{[]tls.Certificate{{Leaf: &x509.Certificate{}}}, ""},
		{[]tls.Certificate{{Leaf: &x509.Certificate{URIs: uris}}}, "spiffe://a"},
	} {
		if got := firstURI(&tls.Config{Certificates: tt.certificates}); got != tt.want {
			t.Errorf("%v has the URI %q; want %q", tt.certificates, got, tt.want)
		}
	}
}
