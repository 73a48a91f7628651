package etcdtest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/store/etcd"
	"github.com/xdsforge/xdsforge/tools/xdsd"
)

// run runs a command of xdsd to its end.
func run(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	if got := xdsd.Run(t.Context(), args, &out, &errOut); got != code {
		t.Fatalf("xdsd %q ends with %d; want %d: %s%s", args, got, code, &out, &errOut)
	}
	return out.String(), errOut.String()
}

// folder returns a folder with clusters.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		text := fmt.Sprintf("\"@type\": %s\nname: %s\ntype: EDS\neds_cluster_config: {eds_config: {ads: {}}}\n", typeURL, name)
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// emptyFolder returns a folder that says that there are no resources.
func emptyFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "none.yaml"), []byte("[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func matches(t *testing.T, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile("(?m)" + pattern).MatchString(text) {
		t.Errorf("output = %s; want %s", text, pattern)
	}
}

// The commands of xdsd publish to a store and read it, and the daemon serves it.
func TestXDSD(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	url := "-store=etcd://" + strings.Join(c.Endpoints(), ",") + "/payments"
	out, _ := run(t, 0, "publish", url, "-author", "ann", folder(t, "a", "b"))
	matches(t, out, `^revision 2: 2 put, 0 deleted$`)
	out, _ = run(t, 0, "publish", url, folder(t, "a", "b"))
	matches(t, out, `^nothing to change$`)
	_, stderr := run(t, 2, "publish", url, "-replace", folder(t, "b", "c"))
	matches(t, stderr, `deletions = 1 of 2 resources; .*; add -allow-deletions 1 if`)
	out, _ = run(t, 0, "publish", url, "-replace", "-allow-deletions=1", folder(t, "b", "c"))
	matches(t, out, `^revision 3: 1 put, 1 deleted$`)
	_, stderr = run(t, 2, "publish", url, "-if-revision=2", folder(t, "x"))
	matches(t, stderr, `revision = 3; must be 2`)
	_, stderr = run(t, 2, "publish", url, "-references", folder(t, "x"))
	matches(t, stderr, `dangling reference`)
	out, _ = run(t, 0, "list", url)
	matches(t, out, `^REVISION +TYPE +NAME +VERSION +BYTES\n2 +envoy.config.cluster.v3.Cluster +b +2-[0-9a-f]{16} +\d+\n3 +\S+ +c `)
	out, _ = run(t, 0, "list", url, "-revision=2", "-o=json")
	matches(t, out, `"name":"a".*"name":"b"`)
	out, _ = run(t, 0, "history", url)
	matches(t, out, `^3 .* 1 +1 .*\n2 +\S+ +ann +2 +0 `)
	out, _ = run(t, 0, "history", url, "-n=1", "-o=json")
	matches(t, out, `^\[\{"Revision":3,`)
	for _, slip := range [][]string{
		{"rollback", url, "2"}, // it deletes c
		{"publish", url, "-replace", emptyFolder(t)},
		{"publish", url, "-replace", "-allow-deletions=1", emptyFolder(t)},
	} {
		_, stderr = run(t, 2, slip...)
		matches(t, stderr, `deletions = \d of 2 resources; .*; add -allow-deletions \d if`)
	}
	_, stderr = run(t, 3, "publish", url, "-replace", t.TempDir())
	matches(t, stderr, `no resource files; use a file with an empty list`)
	out, _ = run(t, 0, "rollback", url, "-allow-deletions=all", "2")
	matches(t, out, `^revision 4: 1 put, 1 deleted$`)
	_, stderr = run(t, 3, "rollback", url, "999")
	matches(t, stderr, `no such revision`)

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, err := cluster.Get(ctx, xdsClient(t, serveStore(t, url)), "a"); err != nil {
		t.Error(err)
	}
}

// serveStore runs the daemon until the test ends, and returns its address.
func serveStore(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	reader, out := io.Pipe()
	done := make(chan int, 1)
	go func() { done <- xdsd.Run(ctx, []string{url, "-listen=127.0.0.1:0"}, out, io.Discard) }()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("xdsd ended with %d", code)
		}
	})
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "serving at "))
}

// xdsClient returns a client of an ADS server.
func xdsClient(t *testing.T, addr string) *xdsforge.Client {
	t.Helper()
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, addr))
	if err != nil {
		t.Fatal(err)
	}
	client, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// A daemon raises an alarm if another one has other resources at the same revision, and ends it when they agree.
func TestDrift(t *testing.T) {
	c := startCluster(t, etcdtest.Options{})
	target := "etcd://" + strings.Join(c.Endpoints(), ",") + "/drift"
	o, err := etcd.ParseURL(target)
	if err != nil {
		t.Fatal(err)
	}
	s := store(t, o)
	put(t, s, "a", "1")
	r := open(t, s)
	r.untilBody(t, key("a"), "1")
	var mu sync.Mutex
	wrong := true
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		d := s.Digest()
		if wrong {
			d.Sums[typeURL] ^= 1
		}
		_ = json.NewEncoder(w).Encode([]map[string]any{{"authority": "", "epoch": d.Epoch, "revision": d.Revision, "sums": d.Sums}}) // the daemon is gone
	}))
	defer peer.Close()

	ctx, cancel := context.WithCancel(context.Background())
	reader, out := io.Pipe()
	lines := make(chan string, 100)
	done := make(chan int, 1)
	go func() {
		done <- xdsd.Run(ctx, []string{"-store", target, "-listen=127.0.0.1:0", "-peers", peer.URL}, io.Discard, out)
		_ = out.Close()
	}()
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	await := func(part string) {
		t.Helper()
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for {
			select {
			case line := <-lines:
				if strings.Contains(line, part) {
					return
				}
			case <-timer.C:
				t.Fatalf("no line contains %q", part)
			}
		}
	}
	await("drift: " + peer.URL + "/digests has other resources of authority \"\" at revision")
	mu.Lock()
	wrong = false
	mu.Unlock()
	await("the end of: drift: ")
	cancel()
	<-done
	<-printed
}
