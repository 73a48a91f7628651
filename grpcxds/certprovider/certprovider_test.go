package certprovider_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	grpccert "google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/internal/testca"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(t testing.TB, fields map[string]string) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// folder has a certificate, its key, its authority, and the SPIFFE bundle map of another authority.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	ca, err := testca.New("authority")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ca.Issue(x509.Certificate{DNSNames: []string{"one.example"}})
	if err != nil {
		t.Fatal(err)
	}
	bundle := fmt.Sprintf(`{"trust_domains": {"a": {"spiffe_sequence": 1, "keys": [{"kty": "EC", "crv": "P-256", "use": "x509-svid", "x": %q, "y": %q, "x5c": [%q]}]}}}`,
		coordinate(t, ca, 0), coordinate(t, ca, 1), base64.StdEncoding.EncodeToString(ca.Certificate.Raw))
	for _, err := range []error{
		testca.WritePair(dir, c),
		testca.Write(filepath.Join(dir, "ca.pem"), ca.PEM()),
		testca.Write(filepath.Join(dir, "bundle.json"), []byte(bundle)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// coordinate returns the x or y of an authority's public key, as in a JWK.
func coordinate(t testing.TB, ca *testca.CA, i int) string {
	t.Helper()
	point, err := ca.Certificate.PublicKey.(*ecdsa.PublicKey).Bytes() // 4, then both coordinates
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(point[1+32*i : 33+32*i])
}

func TestFileWatcher(t *testing.T) {
	dir := folder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	all := map[string]string{
		"certificate_file": at("cert.pem"), "private_key_file": at("key.pem"), "ca_certificate_file": at("ca.pem"),
	}
	f := certprovider.FileWatcher()
	material := func(c map[string]string, opts grpccert.BuildOptions) *grpccert.KeyMaterial {
		t.Helper()
		p, err := f.New(config(t, c), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		m, err := p.KeyMaterial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := material(all, grpccert.BuildOptions{WantIdentity: true}); len(m.Certs) != 1 || m.Roots != nil {
		t.Errorf("identity: %+v", m)
	}
	if m := material(all, grpccert.BuildOptions{WantRoot: true}); m.Certs != nil || m.Roots == nil || m.SPIFFEBundleMap != nil {
		t.Errorf("roots: %+v", m)
	}
	all["spiffe_trust_bundle_map_file"] = at("bundle.json")
	m := material(all, grpccert.BuildOptions{WantRoot: true})
	if b := m.SPIFFEBundleMap["a"]; m.Roots != nil || b == nil || len(b.X509Authorities()) != 1 {
		t.Errorf("SPIFFE: %+v", m)
	}

	// Roots are available even if the identity is missing.
	if err := os.Remove(at("cert.pem")); err != nil {
		t.Fatal(err)
	}
	material(all, grpccert.BuildOptions{WantRoot: true})
}

// A missing file is an error when the configuration is parsed, or when the file is needed.
func TestFileWatcherThatCannot(t *testing.T) {
	f := certprovider.FileWatcher()
	for want, c := range map[string]map[string]string{
		"two directories":                     {"certificate_file": "/a/c", "private_key_file": "/b/k"},
		"must have both or none":              {"certificate_file": "/a/c"},
		"must have a certificate_file or a":   {},
		"has a refresh_interval of 0s; must":  {"ca_certificate_file": "/a", "refresh_interval": "0s"},
		"has a refresh_interval that is no d": {"ca_certificate_file": "/a", "refresh_interval": "often"},
	} {
		if err := f.Check(config(t, c)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %s", c, err, want)
		}
		if _, err := f.New(config(t, c), grpccert.BuildOptions{WantRoot: true}); err == nil {
			t.Errorf("%v starts", c)
		}
	}
	if _, err := f.New(config(t, map[string]string{"ca_certificate_file": "/a"}), grpccert.BuildOptions{WantIdentity: true}); err == nil {
		t.Error("roots are an identity")
	}
	if _, err := f.New(config(t, map[string]string{"certificate_file": "/a/c", "private_key_file": "/a/k"}), grpccert.BuildOptions{WantRoot: true}); err == nil {
		t.Error("an identity is roots")
	}
}

// A builder is one of grpc-go's plugins.
type builder struct{}

func (builder) Name() string { return "mine" }

func (builder) ParseConfig(c any) (*grpccert.BuildableConfig, error) {
	raw, ok := c.(json.RawMessage)
	if !ok || string(raw) == `{"bad":"yes"}` {
		return nil, errors.New("is bad")
	}
	return grpccert.NewBuildableConfig("mine", raw, func(grpccert.BuildOptions) grpccert.Provider { return fixed{} }), nil
}

type fixed struct{}

func (fixed) KeyMaterial(context.Context) (*grpccert.KeyMaterial, error) {
	return &grpccert.KeyMaterial{Roots: x509.NewCertPool()}, nil
}
func (fixed) Close() {}

func TestFromBuilder(t *testing.T) {
	p := certprovider.FromBuilder(builder{})
	good, bad := config(t, nil), config(t, map[string]string{"bad": "yes"})
	if p.Plugin != "mine" || p.Check(good) != nil || p.Check(bad) == nil {
		t.Errorf("%q checks configurations: %v, %v", p.Plugin, p.Check(good), p.Check(bad))
	}
	if _, err := p.New(bad, grpccert.BuildOptions{WantRoot: true}); err == nil {
		t.Error("a bad configuration starts")
	}
	provider, err := p.New(good, grpccert.BuildOptions{WantRoot: true})
	if err != nil {
		t.Fatal(err)
	}
	defer provider.Close()
	if m, err := provider.KeyMaterial(t.Context()); err != nil || m.Roots == nil {
		t.Errorf("%+v, %v", m, err)
	}
}
