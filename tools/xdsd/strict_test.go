package xdsd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// ready returns the status code and the body of /readyz.
func (d *daemon) ready(t *testing.T) (code int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(d.status, "status")+"readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// untilReady waits until the status code of /readyz is the wanted one.
func (d *daemon) untilReady(t *testing.T, want int) (body string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		code, body := d.ready(t)
		if code == want {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz returns %d, %s; want %d", code, body, want)
		}
	}
}

// awaitCluster waits until a client has a cluster. It may be unavailable before.
func awaitCluster(ctx context.Context, t *testing.T, c *xdsforge.Client, name string) {
	t.Helper()
	for ev := range cluster.Watch(ctx, c, name) {
		if ev.Err == nil {
			return
		}
	}
	t.Errorf("%s never arrives", name)
}

// A daemon that starts with a file that it cannot read says so, and does not say that the resources of the file do not exist.
// With a state directory, it serves the last valid version.
func TestStartWithAnUnreadableFile(t *testing.T) {
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	write(t, dir, "a.yaml", clusterYAML("checkout", "ROUND_ROBIN"))
	write(t, dir, "b.yaml", clusterYAML("shop", "ROUND_ROBIN"))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	t.Run("valid", func(t *testing.T) {
		d := start(t, dir, "-state-dir", state)
		d.untilReady(t, http.StatusOK)
	})
	write(t, dir, "a.yaml", "]")
	t.Run("without a state directory", func(t *testing.T) {
		d := start(t, dir) //nolint:contextcheck // likewise
		d.expect(t, "is stale: files: some resources are not known: a.yaml:1:1")
		body := d.untilReady(t, http.StatusServiceUnavailable) //nolint:contextcheck // the end of the test ends it
		if !strings.Contains(body, "a.yaml:1:1") {
			t.Errorf("/readyz says %s; want the position of the error", body)
		}
		var status struct {
			Sources []struct{ State string }
		}
		get(t, d.status, &status) //nolint:contextcheck // likewise
		if len(status.Sources) != 1 || !strings.Contains(status.Sources[0].State, "a.yaml:1:1") {
			t.Errorf("/status says %+v; want the position of the error", status)
		}
		c := d.client(t)
		if _, err := cluster.Get(ctx, c, "shop"); err != nil {
			t.Errorf("a resource of another file: %v", err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := cluster.Get(short, c, "checkout"); err == nil || errors.Is(err, resource.ErrNotFound) {
			t.Errorf("a resource of the file: %v; want an error that does not say that it does not exist", err)
		}
		write(t, dir, "b.yaml", clusterYAML("shop", "ROUND_ROBIN")+"---\n"+clusterYAML("shop2", "ROUND_ROBIN"))
		awaitCluster(ctx, t, c, "shop2")
	})
	t.Run("with a state directory", func(t *testing.T) {
		d := start(t, dir, "-state-dir", state) //nolint:contextcheck // likewise
		d.expect(t, "rejected: a.yaml:1:1")
		d.untilReady(t, http.StatusOK) //nolint:contextcheck // likewise
		c := d.client(t)
		for _, name := range []string{"checkout", "shop", "shop2"} {
			awaitCluster(ctx, t, c, name)
		}
	})
	if err := os.Remove(filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	d := start(t, dir, "-state-dir", state)
	d.expect(t, "is live")
	d.untilReady(t, http.StatusOK)
}
