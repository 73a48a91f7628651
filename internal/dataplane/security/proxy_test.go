package security_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpccert "google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/test/bufconn"

	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

// A proxy connects to the targets of CONNECT requests, or rejects them with another status.
type proxy struct {
	net.Listener
	answer string // with status 200, the proxy then forwards bytes
	mu     sync.Mutex
	asked  map[string]int // the number of requests for each target
	work   sync.WaitGroup
}

func startProxy(t testing.TB, answer string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveProxy(t, l, answer)
}

func serveProxy(t testing.TB, l net.Listener, answer string) *proxy {
	t.Helper()
	p := &proxy{Listener: l, answer: answer, asked: make(map[string]int)}
	p.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.work.Wait()
	})
	return p
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	request, err := http.ReadRequest(r)
	if err != nil || request.Method != http.MethodConnect {
		return
	}
	p.mu.Lock()
	p.asked[request.Host]++
	p.mu.Unlock()
	if p.answer == silence {
		_, _ = io.Copy(io.Discard, r)
		return
	}
	if !strings.Contains(p.answer, " 200 ") {
		_, _ = io.WriteString(c, p.answer)
		return
	}
	to, err := net.Dial("tcp", request.Host)
	if err != nil {
		return
	}
	defer to.Close()
	// The server's first bytes arrive together with the proxy's response.
	early := make([]byte, 9)
	_ = to.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	n, _ := io.ReadFull(to, early)
	_ = to.SetReadDeadline(time.Time{})
	_, _ = c.Write(append([]byte(p.answer), early[:n]...))
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(to, r); _ = to.Close() })
	both.Go(func() { _, _ = io.Copy(c, to); _ = c.Close() })
	both.Wait()
}

// proxied is the channel side of round_robin, which creates subchannels that may use a proxy.
type proxied struct {
	balancer.ClientConn
	bundle credentials.Bundle
}

func (p proxied) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	opts.CredsBundle = p.bundle                                          //nolint:staticcheck // the only public way to the credentials of a subchannel
	return p.ClientConn.NewSubConn(security.ThroughProxies(addrs), opts) //nolint:staticcheck // what leaves call
}

// The policy is registered for one test.
type policy struct {
	name, proxy string
	cluster     *security.Cluster
}

func (p policy) Name() string { return p.name }

func (p policy) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return balancer.Get(roundrobin.Name).Build(proxied{cc, security.ProxyBundle(opts)}, opts)
}

// call makes a call to a server through a proxy.
func call(t testing.TB, server string, p policy, opts ...grpc.DialOption) error {
	t.Helper()
	return calls(t, []string{server}, p, func() bool { return true }, opts...)
}

// calls makes calls of one channel to servers through one proxy, until it is done.
func calls(t testing.TB, servers []string, p policy, done func() bool, opts ...grpc.DialOption) error {
	t.Helper()
	p.name = t.Name()
	balancer.Register(p)
	r := manual.NewBuilderWithScheme("test")
	var state resolver.State
	for _, server := range servers {
		a := security.WithProxy(resolver.Address{Addr: server}, p.proxy)
		if p.cluster != nil {
			a = security.WithCluster(a, p.cluster, "")
		}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{a}})
	}
	r.InitialState(state)
	opts = append(opts, grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"`+p.name+`": {}}]}`))
	c, err := grpc.NewClient("test:///x", opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := healthpb.NewHealthClient(c).Check(ctx, new(healthpb.HealthCheckRequest)); err != nil || done() {
			return err
		}
	}
}

func startServer(t testing.TB, creds credentials.TransportCredentials) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(creds))
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan struct{})
	go func() { _ = s.Serve(l); close(done) }()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return l.Addr().String()
}

const (
	opened  = "HTTP/1.1 200 OK\r\n\r\n"
	silence = ""
)

// bundle is a credentials bundle of a channel.
type bundle struct{ credentials.Bundle }

func (bundle) TransportCredentials() credentials.TransportCredentials {
	return insecure.NewCredentials()
}
func (bundle) PerRPCCredentials() credentials.PerRPCCredentials { return nil }

// Calls reach an endpoint through its proxy, whatever the channel's credentials are (A86).
func TestProxy(t *testing.T) {
	for name, creds := range map[string]grpc.DialOption{
		"credentials": grpc.WithTransportCredentials(insecure.NewCredentials()),
		"bundle":      grpc.WithCredentialsBundle(bundle{}),
	} {
		t.Run(name, func(t *testing.T) {
			server, p := startServer(t, insecure.NewCredentials()), startProxy(t, opened)
			if err := call(t, server, policy{proxy: p.Addr().String()}, creds); err != nil {
				t.Error(err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.asked) != 1 || p.asked[server] == 0 {
				t.Errorf("the proxy received requests for %v; want %s", p.asked, server)
			}
		})
	}
}

// TestThroughProxies expects a separate list of the addresses of proxies.
func TestThroughProxies(t *testing.T) {
	direct := resolver.Address{Addr: "d:1"}
	in := []resolver.Address{direct, security.WithProxy(resolver.Address{Addr: "a:1"}, "p:1"), security.WithProxy(resolver.Address{Addr: "b:1"}, "p:2")}
	out := security.ThroughProxies(in)
	if len(out) != 3 || out[0] != direct || out[1].Addr != "p:1" || out[2].Addr != "p:2" {
		t.Errorf("the subchannels connect to %v", out)
	}
	if in[1].Addr != "a:1" || in[2].Addr != "b:1" {
		t.Errorf("the endpoints became %v", in)
	}
	if plain := security.ThroughProxies(in[:1]); &plain[0] != &in[0] {
		t.Error("the list without proxies was copied")
	}
}

// modes is a bundle that knows one mode.
type modes struct{ bundle }

func (m modes) NewWithMode(mode string) (credentials.Bundle, error) {
	if mode != "known" {
		return nil, errors.New("no such mode")
	}
	return m, nil
}

// TestProxyBundleModes expects the modes of the channel's bundle. Without a bundle, any mode is
// valid.
func TestProxyBundleModes(t *testing.T) {
	none := security.ProxyBundle(balancer.BuildOptions{DialCreds: insecure.NewCredentials()})
	if b, err := none.NewWithMode("any"); err != nil || b != none {
		t.Errorf("a mode without a bundle is %v, %v; want the credentials themselves", b, err)
	}
	b := security.ProxyBundle(balancer.BuildOptions{CredsBundle: modes{}})
	if known, err := b.NewWithMode("known"); err != nil || known == nil || known.TransportCredentials() == nil {
		t.Errorf("the mode is %v, %v; want the credentials of the channel's bundle", known, err)
	}
	if unknown, err := b.NewWithMode("unknown"); err == nil || unknown != nil {
		t.Errorf("a mode that the bundle lacks is %v; want its error", unknown)
	}
}

// LB policies see endpoints behind one proxy as different, and each gets its calls.
func TestEndpointsBehindOneProxy(t *testing.T) {
	servers := []string{startServer(t, insecure.NewCredentials()), startServer(t, insecure.NewCredentials())}
	p := startProxy(t, opened)
	done := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.asked) == 2
	}
	if err := calls(t, servers, policy{proxy: p.Addr().String()}, done, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		t.Errorf("%v; the proxy received requests for %v; want both of %v", err, p.asked, servers)
	}
}

// The cluster's TLS is a session with the endpoint, not with the proxy.
func TestProxyAndTLS(t *testing.T) {
	ca, s := authority(t), newStore(t)
	s.set("roots", &grpccert.KeyMaterial{Roots: ca.Pool()})
	identity := issue(t, ca, x509.Certificate{})
	cluster := s.providers().Cluster()
	defer cluster.Close()
	cluster.Update(&tlscontext.Client{Roots: instance("roots")})
	server, p := startServer(t, credentials.NewServerTLSFromCert(&identity.Certs[0])), startProxy(t, opened)
	if err := call(t, server, policy{proxy: p.Addr().String(), cluster: cluster}, grpc.WithTransportCredentials(tlsOf{insecure.NewCredentials()})); err != nil {
		t.Error(err)
	}
}

// tlsOf returns credentials with the cluster's TLS.
type tlsOf struct {
	credentials.TransportCredentials
}

func (tlsOf) ClientHandshake(ctx context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := security.ClientTLS(ctx, credentials.ClientHandshakeInfoFromContext(ctx).Attributes)
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, "", conn)
}

func (c tlsOf) Clone() credentials.TransportCredentials { return c }

// Calls fail if the proxy rejects the CONNECT request, or if the server is not a proxy.
func TestProxyThatDoesNot(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"refuses": {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "the proxy responded 403 Forbidden"},
		"is none": {"SSH-2.0\r\n", "CONNECT"},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProxy(t, test.answer)
			err := call(t, "127.0.0.1:1", policy{proxy: p.Addr().String()}, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), p.Addr().String()) {
				t.Errorf("%v; want %s", err, test.want)
			}
		})
	}
}

// The deadline of the connection attempt ends the wait for the response of a proxy.
func TestSilentProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(1 << 16)
		p := serveProxy(t, l, silence)
		const limit = 3 * time.Second
		began := time.Now()
		err := call(t, "server:1", policy{proxy: "proxy:1"}, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: limit}))
		if err == nil || !strings.Contains(err.Error(), "context deadline exceeded") || !strings.Contains(err.Error(), "HTTP proxy bufconn") {
			t.Errorf("%v; want the deadline, and the proxy", err)
		}
		if took := time.Since(began); took != limit {
			t.Errorf("the call failed after %v, want %v", took, limit)
		}
		if n := p.asked["server:1"]; n != 1 {
			t.Errorf("the proxy got %d CONNECT requests, want 1", n)
		}
	})
}
