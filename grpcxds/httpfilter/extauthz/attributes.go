package extauthz

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/netip"
	"net/url"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// request describes the request of a call (A92).
func (a *authorizer) request(method string, md metadata.MD) *authv3.AttributeContext_Request {
	return &authv3.AttributeContext_Request{
		Time: timestamppb.Now(),
		Http: &authv3.AttributeContext_HttpRequest{
			Method: "POST", Path: valid(method), Size: -1, Protocol: "HTTP/2", HeaderMap: a.config.Headers.Headers(md),
		},
	}
}

// source describes the client of a call.
func (a *authorizer) source(call *httpfilter.ServerCall) *authv3.AttributeContext_Peer {
	p := &authv3.AttributeContext_Peer{Address: address(call.Remote)}
	info, ok := call.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return p
	}
	leaf := info.State.PeerCertificates[0]
	p.Principal = principal(leaf)
	if a.config.IncludePeerCertificate {
		p.Certificate = encode(leaf)
	}
	return p
}

// destination describes the server of a call.
func destination(call *httpfilter.ServerCall) *authv3.AttributeContext_Peer {
	p := &authv3.AttributeContext_Peer{Address: address(call.Local)}
	if _, ok := call.AuthInfo.(credentials.TLSInfo); ok && call.LocalCertificate != nil {
		if leaf := call.LocalCertificate(); leaf != nil {
			p.Principal = principal(leaf)
		}
	}
	return p
}

// principal returns the first URI of a certificate. Without one, it returns the first DNS name, or else the subject.
func principal(c *x509.Certificate) string {
	switch {
	case len(c.URIs) > 0:
		return valid(c.URIs[0].String())
	case len(c.DNSNames) > 0:
		return valid(c.DNSNames[0])
	default:
		return valid(c.Subject.String())
	}
}

// valid returns a text that a message may have. Otherwise, a client could make the check fail, and FailureModeAllow would
// allow its call.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// encode returns a certificate as PEM in the encoding of URLs. Spaces are %20, as Envoy has them.
func encode(c *x509.Certificate) string {
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	return strings.ReplaceAll(url.QueryEscape(string(text)), "+", "%20")
}

// address returns the message of an address, or nil.
func address(a net.Addr) *corev3.Address {
	if a == nil {
		return nil
	}
	if tcp, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		ap := tcp.AddrPort()
		return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: ap.Addr().Unmap().String(), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(ap.Port())},
		}}}
	}
	return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: valid(a.String())}}}
}
