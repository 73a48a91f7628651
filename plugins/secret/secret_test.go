package secret

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

// The content of a certificate says where it stands, and nothing is read.
func TestCertificate(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &tlsv3.Secret{Name: "server", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: "pem"}},
		PrivateKey:       &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: "/no/such/file"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := &Update{Content: Certificate{Chain: &Data{Source: Text{Value: "pem"}}, PrivateKey: &Data{Source: File{Path: "/no/such/file"}}}}
	if diff := cmp.Diff(want, u.(*Update)); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}

// An empty message in a oneof is another thing than none.
func TestSystemRoots(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &tlsv3.Secret{Name: "roots", Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
		SystemRootCerts: &tlsv3.CertificateValidationContext_SystemRootCerts{},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := u.(*Update).Content.(Validation); !ok || v.SystemRoots == nil || v.TrustedCA != nil {
		t.Errorf("content %+v; want the roots of the system", u.(*Update).Content)
	}
}
