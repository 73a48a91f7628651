package grpcxds

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/url"
	"strings"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A certificate with several names has the principals of its URIs, or else of its DNS names, or else its subject (A41): each of them, and
// none of the rest.
func TestRulesForSeveralNames(t *testing.T) {
	w, v := newSecureWorld(t)
	s := w.serve(Creds(insecure.NewCredentials()))
	uris := func(list ...string) (out []*url.URL) {
		for _, one := range list {
			u, err := url.Parse(one)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, u)
		}
		return out
	}
	subject := pkix.Name{CommonName: "e", Organization: []string{"f"}}
	certificates := []struct {
		x509.Certificate
		principals []string
	}{
		{x509.Certificate{Subject: subject}, []string{"CN=e,O=f"}},
		{x509.Certificate{Subject: subject, DNSNames: []string{"c.example", "d.example"}}, []string{"c.example", "d.example"}},
		{x509.Certificate{Subject: subject, EmailAddresses: []string{"g@example"}}, []string{"CN=e,O=f"}},
		{x509.Certificate{Subject: subject, URIs: uris("spiffe://mesh/a", "https://b/?q"), DNSNames: []string{"c.example"}}, []string{"spiffe://mesh/a", "https://b/?q"}},
		{x509.Certificate{URIs: uris("https://b/?q", "spiffe://mesh/a", "spiffe://mesh/z"), DNSNames: []string{"c.example", "d.example"}}, []string{"https://b/?q", "spiffe://mesh/a", "spiffe://mesh/z"}},
	}
	names := []string{"spiffe://mesh/a", "https://b/?q", "spiffe://mesh/z", "c.example", "d.example", "CN=e,O=f", "CN=e", "g@example", ""}
	var routes strings.Builder
	for i, name := range names {
		for _, action := range []string{"ALLOW", "DENY"} {
			fmt.Fprintf(&routes, `routes { match { prefix: "" headers { name: "rule" string_match { exact: "%s %d" } } } non_forwarding_action {} typed_per_filter_config { key: "rbac" value {
				[type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute] { rbac { rules { action: %[1]s policies { key: "p" value { permissions { any: true } principals { authenticated { principal_name { exact: %[3]q } } } } } } } } } } } `, action, i, name)
		}
	}
	w.publishListener(withTLS(s.listener(`http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] {} } } ` + inline(routes.String()))))
	s.awaitServing()
	calls := 0
	for _, c := range certificates {
		own, err := v.ca.Issue(c.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		client := s.dial(grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			RootCAs: v.ca.Pool(), ServerName: "server.example", MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own},
		})))
		for i, name := range names {
			has := false
			for _, p := range c.principals {
				has = has || p == name
			}
			for action, want := range map[string]codes.Code{"ALLOW": codeIf(has), "DENY": codeIf(!has)} {
				calls++
				_, err := client.EmptyCall(metadata.AppendToOutgoingContext(s.ctx, "rule", fmt.Sprint(action, " ", i)), &testpb.Empty{})
				if status.Code(err) != want {
					t.Errorf("%s for the principal %q, with the certificate of %q: %v; want %v", action, name, c.principals, err, want)
				}
			}
		}
	}
	t.Logf("%d calls", calls)
}

// codeIf returns the code of a call that is allowed, or not.
func codeIf(allowed bool) codes.Code {
	if allowed {
		return codes.OK
	}
	return codes.PermissionDenied
}
