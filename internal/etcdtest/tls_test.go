package etcdtest_test

import (
	"context"
	"crypto/x509"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/internal/testca"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// issue writes a certificate for nodes and clients, and its authority.
func issue(t *testing.T, dir string, roots ...*testca.CA) {
	t.Helper()
	pair, err := roots[0].Issue(x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"etcd.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	})
	if err == nil {
		err = testca.WritePair(dir, pair)
	}
	var pem []byte
	for _, ca := range roots {
		pem = append(pem, ca.PEM()...)
	}
	if err == nil {
		err = testca.Write(filepath.Join(dir, "ca.pem"), pem)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tlsURL returns the URL of a store with the files of a directory.
func tlsURL(c *etcdtest.Cluster, dir string, files ...string) string {
	list := make([]string, 0, len(files))
	for _, f := range files {
		list = append(list, f+"="+filepath.Join(dir, f+".pem"))
	}
	return "etcd://" + strings.Join(c.Endpoints(), ",") + "/tls?" + strings.Join(list, "&")
}

// A store uses TLS with the files of its URL. After a change of the files, its next connections use the new ones.
func TestTLS(t *testing.T) {
	first, err := testca.New("first")
	if err != nil {
		t.Fatal(err)
	}
	second, err := testca.New("second")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	issue(t, dir, first)
	c := startCluster(t, etcdtest.Options{TLS: dir})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()

	o, err := etcd.ParseURL(tlsURL(c, dir, "ca", "cert", "key"))
	if err != nil {
		t.Fatal(err)
	}
	s := store(t, o)
	put(t, s, "a", "1")
	r := open(t, s)
	r.untilBody(t, key("a"), "1")

	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	issue(t, dir, second)
	wait, err := c.Restart(ctx, 0)
	if err == nil {
		err = wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", "2")
	r.untilBody(t, key("a"), "2")

	named := tlsURL(c, dir, "ca", "cert", "key") + "&server-name="
	if o, err = etcd.ParseURL(named + "etcd.test"); err != nil {
		t.Fatal(err)
	}
	put(t, store(t, o), "a", "3")

	for url, want := range map[string]string{
		tlsURL(c, dir, "ca"):          "set cert and key",
		tlsURL(c, dir, "cert", "key"): "set ca",
		named + "other.test":          "server-name",
	} {
		o, err := etcd.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		s := store(t, o)
		for limit := time.Second; ; limit *= 2 { // it fails for any time; a slow machine needs more until the first handshake
			short, cancel := context.WithTimeout(ctx, limit)
			_, err = s.Commit(short, new(source.Tx).Put(value("b", "1")))
			cancel()
			if err != nil && strings.Contains(err.Error(), want) {
				break
			}
			if err == nil || limit > 30*time.Second {
				t.Errorf("%s: error = %v, want %q", url, err, want)
				break
			}
		}
	}
}
