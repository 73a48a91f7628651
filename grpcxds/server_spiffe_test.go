package grpcxds

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// A bundleVault is a vault whose clients are verified by SPIFFE bundles.
type bundleVault struct {
	*vault
	bundles string // the file
}

// as returns the credentials of a client with a SPIFFE ID that an authority has issued.
func (v *bundleVault) as(ca *testca.CA, id string) grpc.DialOption {
	v.Helper()
	u, err := url.Parse(id)
	if err != nil {
		v.Fatal(err)
	}
	c, err := ca.Issue(x509.Certificate{URIs: []*url.URL{u}})
	if err != nil {
		v.Fatal(err)
	}
	return grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: v.ca.Pool(), ServerName: "server.example", MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{c},
	}))
}

func (v *bundleVault) write(domains map[string][]*testca.CA) {
	v.Helper()
	if err := testca.WriteBundles(v.bundles, domains); err != nil {
		v.Error(err)
	}
}

func newBundleWorld(t *testing.T) (*site, *bundleVault) {
	t.Helper()
	v := &bundleVault{vault: newVault(t), bundles: filepath.Join(t.TempDir(), "bundles.json")}
	v.write(map[string][]*testca.CA{"mesh": {v.ca}})
	plane, err := controlplane.Start([]string{listenerMessage, routeMessage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	w := newWorldOf(t, plane, fmt.Sprintf(`{"node": {"id": "web-1"}, "server_listener_resource_name_template": "server/%%s",
		"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}],
		"certificate_providers": {"files": {"plugin_name": "file_watcher", "config": {
			"certificate_file": %q, "private_key_file": %q, "spiffe_trust_bundle_map_file": %q, "refresh_interval": "0.01s"}}}}`,
		plane.Addr(), filepath.Join(v.dir, "cert.pem"), filepath.Join(v.dir, "key.pem"), v.bundles))
	s := w.serve(Creds(insecure.NewCredentials()))
	w.publishListener(withTLS(s.listener(inline(anyRoute))))
	s.awaitServing()
	return s, v
}

// While the authorities of a trust domain rotate under new connections, no client of an authority that stays is refused, and no other
// client is accepted: of an authority that the domain does not have, of the domain's authority for another domain, of a domain
// without a bundle, or without a certificate (A87). After each rotation, the client of the authority that has gone is refused.
func TestBundlesRotateUnderCallsOfAServer(t *testing.T) {
	s, v := newBundleWorld(t)
	authorities := make([]*testca.CA, 12)
	for i := range authorities {
		ca, err := testca.New(fmt.Sprint("ca ", i))
		if err != nil {
			t.Fatal(err)
		}
		authorities[i] = ca
	}
	foreign, other := authorities[0], authorities[1]
	call := func(o grpc.DialOption) error {
		cc, err := grpc.NewClient("passthrough:///"+s.addr, o)
		if err != nil {
			return err
		}
		defer cc.Close()
		return cc.Invoke(s.ctx, "/grpc.testing.TestService/EmptyCall", &testpb.Empty{}, &testpb.Empty{})
	}
	publish := func(changing ...*testca.CA) {
		v.write(map[string][]*testca.CA{"mesh": append(changing, v.ca), "other": {other}})
	}
	good := []grpc.DialOption{v.as(v.ca, "spiffe://mesh/a"), v.as(other, "spiffe://other/a")}
	bad := []grpc.DialOption{
		v.as(foreign, "spiffe://mesh/a"), v.as(v.ca, "spiffe://other/a"), v.as(other, "spiffe://mesh/a"), v.as(v.ca, "spiffe://nobody/a"), v.as(v.ca, "https://mesh/a"),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: v.ca.Pool(), ServerName: "server.example", MinVersion: tls.VersionTLS12})),
	}
	publish()
	s.eventually("the domain other has a bundle", func() bool { return call(good[1]) == nil })
	var passed, refused atomic.Int64
	done := make(chan struct{})
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if err := call(good[i%len(good)]); err != nil {
					t.Errorf("client %d, which is always allowed: %v", i%len(good), err)
				}
				passed.Add(1)
				if err := call(bad[i%len(bad)]); status.Code(err) != codes.Unavailable {
					t.Errorf("client %d, which is never allowed: %v; want UNAVAILABLE", i%len(bad), err)
				}
				refused.Add(1)
			}
		})
	}
	for _, next := range authorities[2:] {
		o := v.as(next, "spiffe://mesh/new")
		publish(next)
		s.eventually("the new authority is accepted", func() bool { return call(o) == nil })
		publish()
		s.eventually("the old authority is refused", func() bool { return status.Code(call(o)) == codes.Unavailable })
	}
	close(done)
	all.Wait()
	if passed.Load() < 20 || refused.Load() < 20 {
		t.Errorf("%d calls passed, and %d were refused; want 20 of each", passed.Load(), refused.Load())
	}
	t.Logf("20 rotations: %d calls passed, %d were refused", passed.Load(), refused.Load())
}
