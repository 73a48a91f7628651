package extauthz_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/fakeauthz"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// record makes the authorization server keep the last request.
func (w *world) record() *authv3.AttributeContext {
	last := new(authv3.AttributeContext)
	w.Decide(func(_ context.Context, m *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		last.Source, last.Destination, last.Request = m.GetAttributes().GetSource(), m.GetAttributes().GetDestination(), m.GetAttributes().GetRequest()
		return fakeauthz.Allow(nil), nil
	})
	return last
}

// The request of the call is described on both sides. Headers are selected, and those of binary headers are in base64.
func TestRequest(t *testing.T) {
	w := newWorld(t)
	last := w.record()
	for side, call := range sides(w) {
		start := time.Now()
		call(t.Context(), w.parse(`, "allowed_headers": {"patterns": [{"prefix": "x-"}]}, "disallowed_headers": {"patterns": [{"exact": "x-no"}]}`),
			exchange{request: metadata.Pairs("x-a", "1", "x-a", "2", "x-bin", "\x00\x01", "x-no", "3", "y", "4")})
		h := last.GetRequest().GetHttp()
		if h.GetMethod() != "POST" || h.GetPath() != "/p.S/M" || h.GetSize() != -1 || h.GetProtocol() != "HTTP/2" {
			t.Errorf("%s: %v; want POST, /p.S/M, -1 and HTTP/2", side, h)
		}
		if at := last.GetRequest().GetTime().AsTime(); at.Before(start) || at.After(time.Now()) {
			t.Errorf("%s: the time is %v; want the time of the call", side, at)
		}
		got := map[string]string{}
		for _, one := range h.GetHeaderMap().GetHeaders() {
			got[one.GetKey()] += string(one.GetRawValue()) + one.GetValue() + ","
		}
		if fmt.Sprint(got) != "map[x-a:1,2, x-bin:AAE=,]" {
			t.Errorf("%s: the headers are %v; want x-a twice and x-bin in base64", side, got)
		}
		if len(h.GetHeaders()) > 0 || h.GetHost() != "" || h.GetScheme() != "" || h.GetId() != "" {
			t.Errorf("%s: %v; want no further fields", side, h)
		}
		if (last.GetSource() != nil) != (side == "server") || (last.GetDestination() != nil) != (side == "server") {
			t.Errorf("%s: source %v, destination %v; want them on servers only", side, last.GetSource(), last.GetDestination())
		}
	}
}

// Text that is not UTF-8 does not make a check fail.
func TestInvalidText(t *testing.T) {
	w := newWorld(t)
	last := w.record()
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "a\xff"}}
	call := &httpfilter.ServerCall{Method: "/p.S/\xff", Remote: &net.UnixAddr{Name: "/\xff", Net: "unix"}, AuthInfo: credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}}}
	if got := w.serverCall(t.Context(), w.parse(""), exchange{}, call); got.err != nil || last.GetRequest().GetHttp().GetPath() != "/p.S/\uFFFD" {
		t.Errorf("%v, path %q; want it with a replacement", got.err, last.GetRequest().GetHttp().GetPath())
	}
}

// A server describes both ends of the connection. A principal is a URI, or else a DNS name, or else the subject.
func TestPeers(t *testing.T) {
	ca, err := testca.New("root")
	if err != nil {
		t.Fatal(err)
	}
	issue := func(c x509.Certificate) *x509.Certificate {
		pair, err := ca.Issue(c)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf
	}
	uri := &url.URL{Scheme: "spiffe", Host: "shop", Path: "/a"}
	subject := pkix.Name{CommonName: "s", Organization: []string{"o"}}
	w := newWorld(t)
	last := w.record()
	remote, local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 5}, &net.TCPAddr{IP: net.IPv6loopback, Port: 6}
	for _, tt := range []struct {
		leaf x509.Certificate
		want string
	}{
		{x509.Certificate{Subject: subject, DNSNames: []string{"d", "e"}, URIs: []*url.URL{uri, {Scheme: "x", Host: "y"}}}, "spiffe://shop/a"},
		{x509.Certificate{Subject: subject, DNSNames: []string{"d", "e"}}, "d"},
		{x509.Certificate{Subject: subject}, "CN=s,O=o"},
	} {
		leaf := issue(tt.leaf)
		for _, include := range []bool{false, true} {
			info := credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}}
			w.serverCall(t.Context(), w.parse(fmt.Sprintf(`, "include_peer_certificate": %t`, include)), exchange{}, &httpfilter.ServerCall{
				Remote: remote, Local: local, AuthInfo: info, LocalCertificate: func() *x509.Certificate { return leaf },
			})
			s, d := last.GetSource(), last.GetDestination()
			if s.GetPrincipal() != tt.want || d.GetPrincipal() != tt.want {
				t.Errorf("principals %q and %q; want %q", s.GetPrincipal(), d.GetPrincipal(), tt.want)
			}
			if a := s.GetAddress().GetSocketAddress(); a.GetAddress() != "10.0.0.1" || a.GetPortValue() != 5 {
				t.Errorf("the source is %v; want 10.0.0.1:5", a)
			}
			if a := d.GetAddress().GetSocketAddress(); a.GetAddress() != "::1" || a.GetPortValue() != 6 {
				t.Errorf("the destination is %v; want [::1]:6", a)
			}
			text, err := url.PathUnescape(s.GetCertificate())
			block, _ := pem.Decode([]byte(text))
			if err != nil || (block != nil && bytes.Equal(block.Bytes, leaf.Raw)) != include || strings.ContainsAny(s.GetCertificate(), "+ \n/=") || d.GetCertificate() != "" {
				t.Errorf("include %t: the certificate is %q, %v", include, s.GetCertificate(), err)
			}
		}
	}
	for name, call := range map[string]*httpfilter.ServerCall{
		"no TLS":         {Remote: &net.UnixAddr{Name: "/s", Net: "unix"}, LocalCertificate: func() *x509.Certificate { return issue(x509.Certificate{}) }},
		"no certificate": {Remote: &net.UnixAddr{Name: "/s", Net: "unix"}, AuthInfo: credentials.TLSInfo{}, LocalCertificate: func() *x509.Certificate { return nil }},
		"another TLS":    {Remote: &net.UnixAddr{Name: "/s", Net: "unix"}, AuthInfo: credentials.TLSInfo{}},
	} {
		w.serverCall(t.Context(), w.parse(""), exchange{}, call)
		if s, d := last.GetSource(), last.GetDestination(); s.GetPrincipal() != "" || d.GetPrincipal() != "" || s.GetAddress().GetPipe().GetPath() != "/s" || d.GetAddress() != nil {
			t.Errorf("%s: source %v, destination %v; want only the address /s", name, s, d)
		}
	}
}
