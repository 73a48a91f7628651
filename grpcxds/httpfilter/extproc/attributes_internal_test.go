package extproc

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// Servers have attributes of the request and of the connection. Channels have none of the connection.
func TestServerAttributes(t *testing.T) {
	call := &httpfilter.ServerCall{
		Method: "/p.S/M", Remote: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 99},
		AuthInfo: credentials.TLSInfo{State: tls.ConnectionState{
			Version: tls.VersionTLS13, ServerName: "shop", PeerCertificates: []*x509.Certificate{{Raw: []byte("abc")}},
		}},
	}
	md := metadata.Pairs(":authority", "shop.example", "user-agent", "go", "x-request-id", "7", "x-bin", "\xff", "a", "1", "a", "2")
	full, plain := serverFacts(call, md), serverFacts(&httpfilter.ServerCall{Method: "/p.S/M"}, nil)
	channel := &facts{method: "/p.S/M"}
	for name, want := range map[string]string{
		"request.path": "/p.S/M", "request.url_path": "/p.S/M", "request.host": "shop.example", "request.method": "POST", "request.query": "",
		"request.useragent": "go", "request.id": "7", "source.address": "192.0.2.1:99",
		"connection.requested_server_name": "shop", "connection.tls_version": "TLSv1.3",
		"connection.sha256_peer_certificate_digest": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	} {
		if v := full.value(name); v == nil || v.GetStringValue() != want {
			t.Errorf("%s = %v; want %q", name, v, want)
		}
	}
	if v := full.value("source.port"); v.GetNumberValue() != 99 {
		t.Errorf("source.port = %v; want 99", v)
	}
	headers := full.value("request.headers").GetStructValue().GetFields()
	if headers["a"].GetStringValue() != "1,2" || headers["x-bin"] != nil {
		t.Errorf("request.headers = %v; want a without binary headers", headers)
	}
	for _, name := range []string{
		"request.host", "request.referer", "source.address", "source.port", "connection.requested_server_name", "connection.tls_version",
		"connection.sha256_peer_certificate_digest", "unknown",
	} {
		if v, w := plain.value(name), channel.value(name); v != nil || w != nil {
			t.Errorf("%s = %v, and %v on a channel; want none", name, v, w)
		}
	}
}
