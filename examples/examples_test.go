// Package examples tests the programs in the folders below as a reader uses them: it copies each into a
// module of its own and runs it there.
package examples

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/internal/loopback"
)

// outputs has the programs of one file, and a pattern of the output of each.
var outputs = map[string]string{
	"minimal":    `"checkout" version "[0-9a-f]+" .*MaxRequests: 100.* \(primary\)\n`,
	"federation": `endpoints xdstp://west\.example/.*\n +10\.1\.2\.3:8080\n`,
	"relay":      `by the relay: checkout allows 100 requests\n`,
	"fallback":   `at most 100 requests, from file:backup as fallback\n`,
}

// limit is the time for a program to print its output. Waiting costs nothing when it is fast.
const limit = 2 * time.Minute

func TestPrograms(t *testing.T) {
	for name, want := range outputs {
		t.Run(name, func(t *testing.T) {
			start(t, install(t, name, nil)).await(t, want)
		})
	}
}

// TestChannel runs the channels against the server.
func TestChannel(t *testing.T) {
	port := reserve(t)
	replace := func(text string) string { return strings.ReplaceAll(text, "50051", port) }
	server := start(t, install(t, "server", replace))
	server.await(t, `the server at 127\.0\.0\.1:`+port+` is serving`)
	start(t, install(t, "channel", replace)).await(t, "the server is SERVING\n")
	start(t, install(t, "lbpolicy", replace)).await(t, `answered by 127\.0\.0\.1:`+port+"\n")
}

// TestHTTP runs a server and a client of HTTP, and of Connect, which retries its first call.
func TestHTTP(t *testing.T) {
	for name, want := range map[string]struct{ port, output string }{
		"http":    {"8080", "/api/carts: 200 OK, the handler of /carts\n/api/metrics: 403 Forbidden, not from here\n.* no route of .* takes /carts"},
		"connect": {"8081", "hello, Connect\n"},
	} {
		t.Run(name, func(t *testing.T) {
			port := reserve(t)
			dir := install(t, name, func(text string) string { return strings.ReplaceAll(text, want.port, port) })
			start(t, dir).await(t, want.output)
		})
	}
}

// TestControlPlane expects the error of the invalid cluster, and a control plane that serves.
func TestControlPlane(t *testing.T) {
	port := reserve(t)
	p := start(t, install(t, "controlplane", func(text string) string { return strings.ReplaceAll(text, "18000", port) }))
	p.await(t, `"checkout": lb_policy = MAGLEV; must be one of .*\nserving at 127\.0\.0\.1:`+port+"\n")
}

// TestTests runs the tests of programs as tests of another module.
func TestTests(t *testing.T) {
	for _, name := range []string{"testing", "channel", "federation"} {
		t.Run(name, func(t *testing.T) {
			dir := copyModule(t, name, nil)
			if out, err := command(t.Context(), dir, "go", "test", "./...").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestSize allows a program 80 lines in one file, and only imports that other modules may import.
func TestSize(t *testing.T) {
	names := []string{"channel", "connect", "controlplane", "http", "lbpolicy", "server"}
	for name := range outputs {
		names = append(names, name)
	}
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if lines := bytes.Count(source, []byte("\n")); filepath.Base(file) != "main.go" || lines > 80 {
				t.Errorf("%s has %d lines; want one file main.go of at most 80", file, lines)
			}
			if bytes.Contains(source, []byte("/internal/")) {
				t.Errorf("%s imports an internal package", file)
			}
		}
	}
}

// reserve returns a port of 127.0.0.1 that no other program gets during the test.
func reserve(t *testing.T) string {
	t.Helper()
	p, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	_, port, _ := strings.Cut(p.Addr(), ":")
	return port
}

// copyModule copies an example into a new module, which uses this repository in place of a release.
// It passes each file through edit, unless that is nil.
func copyModule(t *testing.T, name string, edit func(string) string) (dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(name)); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, []byte(edit(string(text))), 0o600)
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} { // the versions of this repository, which need no network
		if _, err := os.Stat(filepath.Join(name, file)); err == nil {
			continue // the example is a module
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edited := command(t.Context(), dir, "go", "mod", "edit", "-module=example.com/copy",
		"-require=github.com/xdsforge/xdsforge@v0.0.0", "-replace=github.com/xdsforge/xdsforge="+root)
	if out, err := edited.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// install builds an example as a module of its own, and returns its folder.
func install(t *testing.T, name string, edit func(string) string) (dir string) {
	t.Helper()
	dir = copyModule(t, name, edit)
	if out, err := command(t.Context(), dir, "go", "build", "-o", "program", ".").CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return dir
}

func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "GRPC_XDS_BOOTSTRAP=bootstrap.json", "GRPC_XDS_BOOTSTRAP_CONFIG=")
	return cmd
}

// A program is a running example. It is killed at the end of the test.
type program struct {
	mu      sync.Mutex
	output  bytes.Buffer
	changed chan struct{} // has an element after output
	ended   chan struct{}
}

func start(t *testing.T, dir string) *program {
	t.Helper()
	p := &program{changed: make(chan struct{}, 1), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := command(ctx, dir, filepath.Join(dir, "program"))
	cmd.Stdout, cmd.Stderr = p, p
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // killed, or ended by itself
	}()
	t.Cleanup(func() { cancel(); <-p.ended })
	return p
}

// Write implements [io.Writer].
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
	return p.output.Write(b)
}

// await waits until the output matches a pattern, and fails the test if the program ends without it.
func (p *program) await(t *testing.T, pattern string) {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for last := false; ; {
		p.mu.Lock()
		text := p.output.String()
		p.mu.Unlock()
		if expression.MatchString(text) {
			return
		}
		if last {
			t.Fatalf("the output is\n%s\nwant %s", text, pattern)
		}
		select {
		case <-p.changed:
		case <-p.ended:
			last = true
		case <-timer.C:
			last = true
		}
	}
}
