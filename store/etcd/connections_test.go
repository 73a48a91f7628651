package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// listen accepts connections until the test ends. It closes them after the handshake, which a nil configuration omits.
func listen(t *testing.T, config *tls.Config) (addr string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				if config == nil {
					_, _ = c.Write([]byte("not TLS, and longer than the header of a record"))
				} else {
					_ = tls.Server(c, config).HandshakeContext(t.Context())
				}
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		group.Wait()
	})
	return l.Addr().String()
}

// The error of a request to a node that the store cannot talk to names the node, the reason and the correction.
func TestErrorOfConnection(t *testing.T) {
	ca, err := testca.New("nodes")
	if err != nil {
		t.Fatal(err)
	}
	other, err := testca.New("others")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		t.Fatal(err)
	}
	node := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
	demanding := node.Clone()
	demanding.ClientAuth, demanding.ClientCAs = tls.RequireAndVerifyClientCert, ca.Pool()
	trusting := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: ca.Pool()}
	named := trusting.Clone()
	named.ServerName = "etcd.example.com"
	for name, x := range map[string]struct {
		node, store *tls.Config
		reason, fix string
	}{
		"system roots":   {node, nil, "unknown authority", "set ca"},
		"other roots":    {node, &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: other.Pool()}, "unknown authority", "set ca"},
		"another name":   {node, named, "etcd.example.com", "server-name"},
		"no certificate": {demanding, trusting, "certificate required", "set cert and key"},
		"TLS to none":    {nil, trusting, "first record", "does not use TLS"},
		"none to TLS":    {node, nil, "", "if the node uses TLS, set ca or tls=true"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := listen(t, x.node)
			endpoint := addr
			if name == "system roots" {
				endpoint = "https://" + addr
			}
			s, err := Open(Options{Endpoints: []string{endpoint}, TLS: x.store})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			for limit := time.Second; ; limit *= 2 { // a slow machine needs more until the first handshake
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				_, _, err = s.Lookup(ctx, source.Key{Type: clusterURL, Name: "a"})
				cancel()
				complete := err != nil
				for _, part := range []string{"node " + addr, x.reason, x.fix} {
					complete = complete && strings.Contains(err.Error(), part)
				}
				if complete {
					return
				}
				if limit > 30*time.Second {
					t.Fatalf("error = %v; want the address %s, %q and %q", err, addr, x.reason, x.fix)
				}
			}
		})
	}
}

// Errors that have another cause than the connection do not mention it, and a connection that works has no error.
func TestErrorOfOtherCause(t *testing.T) {
	s, errTLS := new(Store), errors.New("handshake")
	s.connections.note("a:1", errTLS)
	if err := s.because(rpctypes.ErrPermissionDenied); errors.Is(err, errTLS) {
		t.Errorf("error = %v; must not mention the connection", err)
	}
	if err := s.because(context.DeadlineExceeded); !errors.Is(err, errTLS) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v; must have both errors", err)
	}
	s.connections.note("a:1", context.Canceled)
	if s.connections.err() == nil {
		t.Error("the end of a connection by this process replaces the last error")
	}
	s.connections.note("a:1", nil)
	if err := s.because(context.DeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTLS) {
		t.Errorf("error = %v; want no error of a connection that works", err)
	}
}

// The error of a node that the store does not connect to any more ends, so that errors name only current nodes.
func TestOldErrorsOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, gone, current := new(Store), errors.New("gone"), errors.New("current")
		s.connections.note("a:1", gone)
		<-time.NewTimer(maxErrorAge).C
		if err := s.because(context.DeadlineExceeded); !errors.Is(err, gone) {
			t.Errorf("error = %v; want that of the node", err)
		}
		<-time.NewTimer(time.Second).C
		s.connections.note("b:1", current)
		if n := len(s.connections.errs); n != 1 {
			t.Errorf("the store keeps the errors of %d nodes; want one", n)
		}
		if err := s.because(context.DeadlineExceeded); errors.Is(err, gone) || !errors.Is(err, current) {
			t.Errorf("error = %v; want only that of the current node", err)
		}
		<-time.NewTimer(maxErrorAge + time.Second).C
		if err := s.connections.err(); err != nil {
			t.Errorf("error = %v; want none", err)
		}
	})
}

// lateKV is a node that has the events of a revision before reads of it succeed.
type lateKV struct {
	clientv3.KV
	early int // reads that fail
	value []byte
}

// Get implements [clientv3.KV].
func (k *lateKV) Get(_ context.Context, key string, _ ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if k.early > 0 {
		k.early--
		return nil, rpctypes.ErrFutureRev
	}
	r := new(clientv3.GetResponse)
	if !strings.HasSuffix(key, "\x00") {
		r.Kvs = []*mvccpb.KeyValue{{Key: []byte(key + "000000"), Value: k.value}}
	}
	return r, nil
}

// A reader waits for a node that does not answer reads of a revision yet.
func TestReadBeforeTheNodeIsReady(t *testing.T) {
	s, err := Open(Options{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	value, err := proto.Marshal(&discoveryv3.DeltaDiscoveryResponse{RemovedResources: []string{clusterURL + "/a"}})
	if err != nil {
		t.Fatal(err)
	}
	k := &lateKV{early: 2, value: value}
	changed, err := s.overlay(t.Context(), &clientv3.Client{KV: k}, &batch{revision: 7, ID: "x"})
	if _, ok := changed[source.Key{Type: clusterURL, Name: "a"}]; !ok || err != nil || k.early != 0 {
		t.Errorf("large transaction = %v, %v; want its resource", changed, err)
	}
}
