package security

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"syscall"
	"time"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
)

type (
	// proxyKey is the attribute of an endpoint's address with the address of its proxy.
	proxyKey struct{}
	// targetKey is the attribute of a proxy's address with the address of the endpoint behind it.
	targetKey struct{}
)

// WithProxy returns the address of an endpoint behind an HTTP proxy (gRFC A86). The address itself
// stays that of the endpoint, because LB policies distinguish endpoints by it.
func WithProxy(endpoint resolver.Address, proxy string) resolver.Address {
	endpoint.Attributes = endpoint.Attributes.WithValue(proxyKey{}, proxy)
	return endpoint
}

// ThroughProxies returns the addresses to make a subchannel with. It replaces the address of an
// endpoint behind a proxy by that of the proxy, and keeps the endpoint's for the CONNECT request.
// The subchannel needs the credentials of [ProxyBundle], for any credentials of the channel.
func ThroughProxies(endpoints []resolver.Address) []resolver.Address {
	out := endpoints
	for i, a := range endpoints {
		proxy, ok := a.Attributes.Value(proxyKey{}).(string)
		if !ok {
			continue
		}
		if &out[0] == &endpoints[0] {
			out = slices.Clone(endpoints)
		}
		out[i].Attributes = a.Attributes.WithValue(targetKey{}, a.Addr)
		out[i].Addr = proxy
	}
	return out
}

// ProxyBundle makes the credentials of subchannels whose addresses may come from [ThroughProxies].
// They use the channel's credentials once the proxy has accepted the CONNECT request.
func ProxyBundle(channel balancer.BuildOptions) credentials.Bundle {
	b := proxyBundle{Bundle: channel.CredsBundle, creds: channel.DialCreds}
	if b.Bundle != nil && b.Bundle.TransportCredentials() != nil {
		b.creds = b.Bundle.TransportCredentials()
	}
	return b
}

type proxyBundle struct {
	credentials.Bundle // nil: the channel has none
	creds              credentials.TransportCredentials
}

// TransportCredentials implements [credentials.Bundle].
func (b proxyBundle) TransportCredentials() credentials.TransportCredentials {
	return proxyCredentials{b.creds}
}

// PerRPCCredentials implements [credentials.Bundle].
func (b proxyBundle) PerRPCCredentials() credentials.PerRPCCredentials {
	if b.Bundle == nil {
		return nil
	}
	return b.Bundle.PerRPCCredentials()
}

// NewWithMode implements [credentials.Bundle].
func (b proxyBundle) NewWithMode(mode string) (credentials.Bundle, error) {
	if b.Bundle == nil {
		return b, nil
	}
	inner, err := b.Bundle.NewWithMode(mode)
	if err != nil {
		return nil, err
	}
	return ProxyBundle(balancer.BuildOptions{CredsBundle: inner, DialCreds: b.creds}), nil
}

// proxyCredentials first send a CONNECT request, if the address is that of a proxy.
type proxyCredentials struct {
	credentials.TransportCredentials
}

// ClientHandshake implements [credentials.TransportCredentials].
func (c proxyCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, err := ThroughProxy(ctx, conn, credentials.ClientHandshakeInfoFromContext(ctx).Attributes)
	if err != nil {
		return nil, nil, err
	}
	return c.TransportCredentials.ClientHandshake(ctx, authority, conn)
}

// Clone implements [credentials.TransportCredentials].
func (c proxyCredentials) Clone() credentials.TransportCredentials {
	return proxyCredentials{c.TransportCredentials.Clone()}
}

// ThroughProxy returns the connection to an endpoint, given the connection to an address of [ThroughProxies] with these
// attributes. It returns conn itself if the address is not that of a proxy. It closes conn if it returns an error.
func ThroughProxy(ctx context.Context, conn net.Conn, a *attributes.Attributes) (net.Conn, error) {
	target, ok := a.Value(targetKey{}).(string)
	if !ok {
		return conn, nil
	}
	proxied, err := connect(ctx, conn, target)
	if err != nil {
		_ = conn.Close() // the error says why
		return nil, fmt.Errorf("security: HTTP proxy %v: CONNECT %s: %w", conn.RemoteAddr(), target, err)
	}
	return proxied, nil
}

// maxResponse is the limit of the headers of a proxy's responses to a CONNECT request, in bytes.
const maxResponse = 64 << 10

var errResponse = fmt.Errorf("the headers of the response; must have at most %d bytes", maxResponse)

// limitedReader is a connection from which only a number of bytes can be read, until free is true.
type limitedReader struct {
	io.Reader
	left int
	free bool
}

// Read implements [io.Reader].
func (r *limitedReader) Read(b []byte) (int, error) {
	if r.free {
		return r.Reader.Read(b)
	}
	if r.left == 0 {
		return 0, errResponse
	}
	n, err := r.Reader.Read(b[:min(len(b), r.left)])
	r.left -= n
	return n, err
}

// connect sends a CONNECT request for the target, and waits for the response until the context is
// done.
func connect(ctx context.Context, conn net.Conn, target string) (net.Conn, error) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = conn.SetDeadline(time.Unix(1, 0)) // ends reading and writing
	})
	limited := &limitedReader{Reader: conn, left: maxResponse}
	r := bufio.NewReader(limited)
	status, err := exchange(conn, r, target)
	limited.free = true
	if !stop() {
		<-ended
		return nil, ctx.Err()
	}
	switch {
	case err != nil && ctx.Err() != nil: // gRPC closed the connection before the function above ran
		return nil, ctx.Err()
	case err != nil && limited.left == 0:
		return nil, errResponse
	case err != nil:
		return nil, err
	case status != http.StatusOK:
		return nil, fmt.Errorf("the proxy responded %d %s", status, http.StatusText(status))
	case r.Buffered() == 0:
		return conn, nil
	default: // an HTTP/2 server may send first
		return &readAhead{conn, r}, nil
	}
}

func exchange(conn net.Conn, r *bufio.Reader, target string) (status int, err error) {
	request := &http.Request{
		Method: http.MethodConnect, Host: target, URL: &url.URL{Host: target},
		Header: http.Header{"User-Agent": {"xdsforge"}},
	}
	if err := request.Write(conn); err != nil {
		return 0, err
	}
	for {
		response, err := http.ReadResponse(r, request)
		if err != nil {
			return 0, err
		}
		// The body of a final response is the connection, or ends with it. Interim responses precede it (RFC 9110 section 15.2).
		if s := response.StatusCode; s < 100 || s >= 200 || s == http.StatusSwitchingProtocols {
			return s, nil
		}
	}
}

// readAhead is a connection with bytes that were already read.
type readAhead struct {
	net.Conn
	r *bufio.Reader
}

// Read implements [net.Conn].
func (c *readAhead) Read(b []byte) (int, error) { return c.r.Read(b) }

// SyscallConn returns that of the underlying connection.
func (c *readAhead) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }
