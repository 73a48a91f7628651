package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

// The update has the source of a certificate's content. The decoder reads no file.
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

// The decoder distinguishes an empty message in a oneof from an absent one.
func TestSystemRoots(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &tlsv3.Secret{Name: "roots", Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
		SystemRootCerts: &tlsv3.CertificateValidationContext_SystemRootCerts{},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := u.(*Update).Content.(Validation); !ok || v.SystemRoots == nil || v.TrustedCA != nil {
		t.Errorf("content %+v; want the system roots", u.(*Update).Content)
	}
}

// No text, log or JSON form of a secret shows its content, for any kind of secret.
func TestSecretsAreNotShown(t *testing.T) {
	const content = "hunter2"
	text := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: content}}
	octets := &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(content)}}
	for _, m := range []*tlsv3.Secret{
		{Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: text, PrivateKey: octets, Password: text}}},
		{Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{Pkcs12: octets, Password: text}}},
		{Type: &tlsv3.Secret_SessionTicketKeys{SessionTicketKeys: &tlsv3.TlsSessionTicketKeys{Keys: []*corev3.DataSource{text, octets}}}},
		{Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: text}}},
		{Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secrets: map[string]*corev3.DataSource{"a": text, "b": octets}}}},
	} {
		m.Name = "server"
		u, err := plugintest.Decode(t, Type(), "", m)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("secret", "update", u)
		slog.New(slog.NewTextHandler(&log, nil)).Info("secret", "update", u)
		for _, shown := range []string{fmt.Sprint(u), fmt.Sprintf("%+v", u), fmt.Sprintf("%s", u), string(encoded), log.String()} {
			if !strings.Contains(shown, "server") {
				t.Errorf("%s does not name the secret", shown)
			}
			for _, hidden := range []string{content, base64.StdEncoding.EncodeToString([]byte(content)), fmt.Sprintf("%d", []byte(content))} {
				if strings.Contains(shown, hidden) {
					t.Errorf("%s shows the secret's content", shown)
				}
			}
		}
		if !strings.Contains(string(encoded), "secret\\u003e") {
			t.Errorf("%s does not show that the secret has content", encoded)
		}
	}
}
