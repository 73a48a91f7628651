package xdsd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

func TestMain(m *testing.M) {
	testscript.Main(goleakMain{m}, map[string]func(){
		"xdsd": func() { os.Exit(Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// goleakMain fails if a goroutine is left after the tests.
type goleakMain struct{ m *testing.M }

// Run implements [testscript.TestingM].
func (g goleakMain) Run() int {
	code := g.m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Cmds:                map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	})
}

// exits runs a command that must end with the code that is the first argument.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [argument]...")
	}
	code := 0
	if failed := new(exec.ExitError); errors.As(ts.Exec(args[1], args[2:]...), &failed) {
		code = failed.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d; want %s", code, args[0])
	}
}

// A daemon is a run of the command.
type daemon struct {
	lines  chan string // of the standard error
	addr   string
	status string // URL
}

// limit bounds every wait.
const limit = time.Minute

// start runs the command until the test ends. It returns when the daemon serves.
func start(t *testing.T, args ...string) *daemon {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	outReader, out := io.Pipe()
	errReader, stderr := io.Pipe()
	d := &daemon{lines: make(chan string, 1000)}
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, append([]string{"-listen", "127.0.0.1:0", "-http", "127.0.0.1:0"}, args...), out, stderr) // args may have others
		_ = errors.Join(out.Close(), stderr.Close())
	}()
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		for s := bufio.NewScanner(errReader); s.Scan(); {
			t.Log(s.Text())
			d.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != exitOK {
			t.Errorf("xdsd %q ended with %d", args, code)
		}
		<-printed
	})
	s := bufio.NewScanner(outReader)
	for s.Scan() {
		if addr, ok := strings.CutPrefix(s.Text(), "serving at "); ok {
			d.addr = addr
			return d
		}
		d.status = strings.TrimPrefix(s.Text(), "status at ")
	}
	t.Fatalf("xdsd %q does not serve", args)
	return nil
}

// expect waits for a line of the standard error.
func (d *daemon) expect(t *testing.T, part string) {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case line := <-d.lines:
			if strings.Contains(line, part) {
				return
			}
		case <-timer.C:
			t.Fatalf("no line contains %q", part)
		}
	}
}

func (d *daemon) bootstrap() string {
	return fmt.Sprintf(`{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}], "node": {"id": "test"}}`, d.addr)
}

// client returns a client of the daemon.
func (d *daemon) client(t *testing.T) *xdsforge.Client {
	t.Helper()
	config, err := bootstrap.Parse([]byte(d.bootstrap()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	part := filepath.Join(dir, "."+name)
	if err := errors.Join(os.WriteFile(part, []byte(content), 0o600), os.Rename(part, filepath.Join(dir, name))); err != nil {
		t.Fatal(err)
	}
}

func clusterYAML(name, policy string) string {
	return fmt.Sprintf(`"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: %s
type: EDS
eds_cluster_config: {eds_config: {ads: {}}}
lb_policy: %s
`, name, policy)
}

// A folder is served. An invalid file is reported with its position, and its last valid version stays. A relay of the
// daemon serves the same.
func TestFolderAndRelay(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "c.yaml", clusterYAML("checkout", "ROUND_ROBIN"))
	d := start(t, dir)
	d.expect(t, "is live")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, err := cluster.Get(ctx, d.client(t), "checkout"); err != nil {
		t.Error(err)
	}

	upstream := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(upstream, []byte(d.bootstrap()), 0o600); err != nil {
		t.Fatal(err)
	}
	relay := start(t, "-upstream", upstream, "-authority", "files="+dir)
	c := relay.client(t)
	if _, err := cluster.Get(ctx, c, "checkout"); err != nil {
		t.Error(err)
	}

	write(t, dir, "c.yaml", clusterYAML("checkout", "MAGLEV"))
	d.expect(t, `rejected: c.yaml:5:1: `)
	if u, err := cluster.Get(ctx, c, "checkout"); err != nil || u.Name().String() != "checkout" {
		t.Errorf("resource after the rejected change = %v, %v; want the last valid version", u, err)
	}
	var status struct {
		Sources []struct {
			State    string
			Problems []string
		}
		Clients []struct{ Node string }
	}
	get(t, d.status, &status)
	if len(status.Sources) != 1 || status.Sources[0].State != "live" || len(status.Sources[0].Problems) != 1 || len(status.Clients) != 2 {
		t.Errorf("status = %+v; want one live source with a problem, and two clients", status)
	}
	write(t, dir, "c.yaml", clusterYAML("checkout", "RING_HASH"))
	d.expect(t, "all files are accepted")
	for ev := range cluster.Watch(ctx, c, "checkout") {
		if ev.Err != nil {
			t.Fatal(ev.Err)
		}
		if strings.Contains(fmt.Sprint(ev.Update.LBPolicy), "ing") {
			break
		}
	}
}

// get reads JSON from a URL.
func get(t *testing.T, url string, v any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
		t.Fatal(err)
	}
}

// encrypted checks that a directory has files, and that none of them has a text.
func encrypted(t *testing.T, dir, text string) {
	t.Helper()
	size := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		size += len(b)
		if strings.Contains(string(b), text) {
			t.Errorf("%s has %q in plaintext", path, text)
		}
		return err
	})
	if err != nil || size == 0 {
		t.Errorf("%s has %d bytes, %v; want files", dir, size, err)
	}
}

// A daemon that starts while its source cannot be reached serves what the last one had. That holds for a relay, too.
func TestStateDir(t *testing.T) {
	dir, state := filepath.Join(t.TempDir(), "config"), filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "c.yaml", clusterYAML("checkout", "ROUND_ROBIN"))
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	upstream := filepath.Join(t.TempDir(), "bootstrap.json")
	relayState := filepath.Join(t.TempDir(), "relay")
	t.Run("sources live", func(t *testing.T) {
		d := start(t, dir, "-state-dir", state, "-state-key", key) //nolint:contextcheck // the end of the test ends it
		d.expect(t, "is live")
		if err := os.WriteFile(upstream, []byte(d.bootstrap()), 0o600); err != nil {
			t.Fatal(err)
		}
		relay := start(t, "-upstream", upstream, "-state-dir", relayState, "-state-key", key) //nolint:contextcheck // likewise
		if _, err := cluster.Get(ctx, relay.client(t), "checkout"); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{state, relayState} {
		encrypted(t, dir, "checkout")
	}
	d := start(t, "-store", "etcd://127.0.0.1:1", "-state-dir", state, "-state-key", key) // nothing listens there
	if _, err := cluster.Get(ctx, d.client(t), "checkout"); err != nil {
		t.Error(err)
	}
	relay := start(t, "-upstream", upstream, "-state-dir", relayState, "-state-key", key) // upstream has the address of the first daemon
	if _, err := cluster.Get(ctx, relay.client(t), "checkout"); err != nil {
		t.Error(err)
	}
	var out, stderr strings.Builder
	if code := Run(t.Context(), []string{dir, "-state-key", key}, &out, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "-state-dir") {
		t.Errorf("-state-key alone ends with %d: %s", code, stderr.String())
	}
}

// The status is refused to pages of other sites, whose names resolve to the address of the daemon.
func TestStatusHosts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "none.yaml", "[]")
	d := start(t, "-http-hosts", "xds.example.com", dir)
	d.expect(t, "is live")
	root := strings.TrimSuffix(d.status, "status")
	for _, x := range []struct {
		path, host string
		code       int
	}{
		{"status", "", http.StatusOK},
		{"status", "localhost:1", http.StatusOK},
		{"status", "xds.example.com", http.StatusOK},
		{"status", "evil.example.com", http.StatusMisdirectedRequest},
		{"", "", http.StatusOK},
		{"page.css", "", http.StatusOK},
		{"", "evil.example.com", http.StatusMisdirectedRequest},
		{"healthz", "balancer.example.com", http.StatusOK},
		{"readyz", "balancer.example.com", http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, root+x.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = x.host
		resp, err := new(http.Client).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != x.code {
			t.Errorf("GET /%s with host %q returns %d, want %d", x.path, x.host, resp.StatusCode, x.code)
		}
	}
}

// The resources of a control plane become files, with everything that they refer to. The files can be served.
func TestImport(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "all.yaml", clusterYAML("checkout", "ROUND_ROBIN")+`---
"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
cluster_name: checkout
---
"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
cluster_name: nobody-refers-to-it
`)
	d := start(t, dir)
	d.expect(t, "is live")
	upstream := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(upstream, []byte(d.bootstrap()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, stderr strings.Builder
	target := filepath.Join(t.TempDir(), "imported")
	if code := Run(t.Context(), []string{"import", "-upstream", upstream, "-name", "envoy.config.cluster.v3.Cluster=checkout", target}, &out, &stderr); code != exitOK {
		t.Fatalf("import ends with %d: %s", code, stderr.String())
	}
	if !strings.HasPrefix(out.String(), "2 resources are in ") {
		t.Errorf("output = %q; want the cluster and its endpoints", out.String())
	}
	for _, file := range []string{"Cluster/checkout.json", "ClusterLoadAssignment/checkout.json"} {
		if _, err := os.Stat(filepath.Join(target, file)); err != nil {
			t.Error(err)
		}
	}
	out.Reset()
	if code := Run(t.Context(), []string{"-check", target}, &out, &stderr); code != exitOK || out.String() != "2 resources are accepted\n" {
		t.Errorf("a check of the files ends with %d: %s%s", code, out.String(), stderr.String())
	}
	if code := Run(t.Context(), []string{"import", "-upstream", upstream, target}, &out, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "must be empty") {
		t.Errorf("import to a folder with files ends with %d: %s", code, stderr.String())
	}
	out.Reset()
	if code := Run(t.Context(), []string{"import", "-upstream", upstream, target + "2"}, &out, &stderr); code != exitOK || !strings.HasPrefix(out.String(), "2 resources are in ") {
		t.Errorf("import of all clusters ends with %d: %s%s", code, out.String(), stderr.String())
	}
	delta := strings.Replace(d.bootstrap(), `"channel_creds"`, `"server_features": ["xds.transport.delta"], "channel_creds"`, 1)
	if err := os.WriteFile(upstream, []byte(delta), 0o600); err != nil { // it can answer for missing names
		t.Fatal(err)
	}
	if code := Run(t.Context(), []string{"import", "-upstream", upstream, "-name", "envoy.config.cluster.v3.Cluster=nosuch", target + "3"}, &out, &stderr); code != exitRejected || !strings.Contains(stderr.String(), "does not exist") {
		t.Errorf("import of a missing cluster ends with %d: %s", code, stderr.String())
	}
}
