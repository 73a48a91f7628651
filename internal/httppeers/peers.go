package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/httpxds"
)

// silent is the log of servers whose clients send invalid frames on purpose.
var silent = log.New(io.Discard, "", 0)

// perConnection is the number of requests after which nginx closes a connection, and requests is that of a story.
const (
	perConnection = 10
	requests      = 2000
	parallel      = 8
)

// nginx is an endpoint that closes its connections again and again: by GOAWAY, or by "Connection: close".
func nginx(ctx context.Context, w *world) (string, error) {
	var seen []string
	for _, p := range []struct {
		name, listen string
		protocol     httpxds.Protocol
	}{{"HTTP/1.1", "", httpxds.HTTP1}, {"h2c", " http2", httpxds.HTTP2}} {
		addr, err := freePort(ctx)
		if err != nil {
			return "", err
		}
		config := filepath.Join(w.dir, "nginx.conf")
		text := fmt.Sprintf(`daemon off; pid %[1]s/nginx.pid; error_log stderr error; events { worker_connections 256; }
			http { access_log off; keepalive_requests %[2]d; client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3;
			uwsgi_temp_path %[1]s/4; scgi_temp_path %[1]s/5; server { listen %[3]s%[4]s; location / { return 200 "nginx"; } } }`, w.dir, perConnection, addr, p.listen)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return "", err
		}
		stop, err := startNginx(ctx, w.dir, config)
		if err != nil {
			return "", err
		}
		n, err := w.loadTo(ctx, addr, p.protocol)
		if err = errors.Join(err, stop()); err != nil {
			return "", fmt.Errorf("%s: %w", p.name, err)
		}
		if n < requests/perConnection {
			return "", fmt.Errorf("%s: %d connections for %d requests; want one for at most %d", p.name, n, requests, perConnection)
		}
		seen = append(seen, fmt.Sprintf("%d requests on %d connections by %s", requests, n, p.name))
	}
	return strings.Join(seen, ", "), nil
}

// loadTo sends the requests of a story to an address, and returns the number of connections.
func (w *world) loadTo(ctx context.Context, addr string, p httpxds.Protocol) (int64, error) {
	if err := until(ctx, func() bool { return connects(ctx, addr) }); err != nil {
		return 0, err
	}
	c, err := w.client(addr, p) //nolint:contextcheck // NewTransport has no context
	if err != nil {
		return 0, err
	}
	defer c.transport.Close()
	err = c.load(ctx, requests, parallel)
	return c.dials.Load(), err
}

//go:embed peer.js
var script []byte

// node starts the script in a mode, and returns its output.
func node(ctx context.Context, w *world, args ...string) (*exec.Cmd, io.Reader, error) {
	path := filepath.Join(w.dir, "peer.js")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return nil, nil, err
	}
	c := exec.CommandContext(ctx, "node", append([]string{path}, args...)...) //nolint:gosec // the script of this package
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	err = c.Start()
	return c, out, err
}

// nodeServer sends requests to servers of Node.
func nodeServer(ctx context.Context, w *world) (string, error) {
	for _, p := range []struct {
		mode     string
		protocol httpxds.Protocol
	}{{"server1", httpxds.HTTP1}, {"server2", httpxds.HTTP2}} {
		c, out, err := node(ctx, w, p.mode)
		if err != nil {
			return "", err
		}
		port, err := bufio.NewReader(out).ReadString('\n')
		if err == nil {
			_, err = w.loadTo(ctx, "127.0.0.1:"+strings.TrimSpace(port), p.protocol)
		}
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.mode, err)
		}
	}
	return fmt.Sprintf("%d requests by each of HTTP/1.1 and h2c", requests), nil
}

// nodeClient lets clients of Node send requests while the Listener changes.
func nodeClient(ctx context.Context, w *world) (string, error) {
	s, err := w.site(ctx)
	if err != nil {
		return "", err
	}
	const changes = 10
	var seen []string
	for _, mode := range []string{"client1", "client2"} {
		c, out, err := node(ctx, w, mode, s.addr)
		if err != nil {
			return "", err
		}
		lines := bufio.NewScanner(out)
		lines.Scan() // its first response
		for i := range changes {
			version := fmt.Sprintf("%s %d", mode, i)
			if err := s.listen(version); err != nil {
				return "", err
			}
			if err := until(ctx, func() bool { return s.newest() == version }); err != nil {
				return "", err
			}
			lines.Scan() // after further responses
		}
		last := lines.Text()
		_ = c.Process.Signal(os.Interrupt)
		for lines.Scan() {
			last = lines.Text()
		}
		if err := c.Wait(); err != nil {
			return "", fmt.Errorf("%s: %s: %w", mode, last, err)
		}
		seen = append(seen, fmt.Sprintf("%s: %s", mode, last))
	}
	return strings.Join(seen, ", ") + fmt.Sprintf(", in %d changes each", changes), nil
}

// curl sends single requests.
func curl(ctx context.Context, w *world) (string, error) {
	s, err := w.site(ctx)
	if err != nil {
		return "", err
	}
	checks := 0
	for _, version := range []string{"--http1.1", "--http2-prior-knowledge", "--http2"} {
		for _, r := range []struct {
			path, want string
			args       []string
		}{
			{"/a?b=c", "200 /a ", nil},
			{"/post", "200 /post hello", []string{"-d", "hello"}},
			{"/old/x", "301 http://" + s.addr + "/new/x", nil},
			{"/admin", "403 RBAC: access denied\n", nil},
			{"/%61dmin", "403 RBAC: access denied\n", nil},
			{"/x/../admin", "403 RBAC: access denied\n", nil},
			{"/a%2fb", "400 Bad Request\n", nil},
			{"/expect", "200 /expect hello", []string{"-d", "hello", "-H", "Expect: 100-continue"}},
		} {
			args := append([]string{"-sS", "--path-as-is", version, "-o", "-", "-w", "\n%{http_code} %{redirect_url}", "http://" + s.addr + r.path}, r.args...)
			out, err := exec.CommandContext(ctx, "curl", args...).Output() //nolint:gosec // a fixed program
			if err != nil {
				return "", fmt.Errorf("curl %s %s: %w", version, r.path, err)
			}
			at := bytes.LastIndexByte(out, '\n')
			code, location, _ := strings.Cut(string(out[at+1:]), " ")
			if got := code + " " + location + string(out[:at]); got != r.want {
				return "", fmt.Errorf("curl %s %s = %q; want %q", version, r.path, got, r.want)
			}
			checks++
		}
	}
	return fmt.Sprintf("%d requests", checks), nil
}

// h2spec runs the conformance tests of HTTP/2, also against a plain http.Server. The failures must be the same: they are
// those of net/http.
func h2spec(ctx context.Context, w *world) (string, error) {
	s, err := w.site(ctx)
	if err != nil {
		return "", err
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	plain := &http.Server{Handler: http.HandlerFunc(echo), Protocols: new(http.Protocols), ErrorLog: silent} //nolint:gosec // only h2spec connects
	plain.Protocols.SetHTTP1(true)
	plain.Protocols.SetUnencryptedHTTP2(true)
	w.closing = append(w.closing, func() { _ = plain.Close() })
	go func() { _ = plain.Serve(lis) }() // it ends with close
	ours, summary, err := failures(ctx, s.addr)
	if err != nil {
		return "", err
	}
	theirs, _, err := failures(ctx, lis.Addr().String())
	if err != nil {
		return "", err
	}
	if !slices.Equal(ours, theirs) {
		return "", fmt.Errorf("failures:\n%s\nand of http.Server:\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
	return summary + ", as http.Server", nil
}

// failures returns the names of the tests of h2spec that fail, and its last line.
func failures(ctx context.Context, addr string) (names []string, summary string, err error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", err
	}
	c := exec.CommandContext(ctx, "go", "tool", "h2spec", "-p", port, "-o", "5") //nolint:gosec // a fixed program
	c.Dir = "internal/connectconformance"                                        // the module with the tools
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, "", err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		if _, name, failed := strings.Cut(line, "×"); failed {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if summary = lines[len(lines)-1]; !strings.Contains(summary, "passed") {
		return nil, "", fmt.Errorf("h2spec ends with %q", summary)
	}
	return names, summary, nil
}

// startNginx starts nginx with a file. The result stops it.
func startNginx(ctx context.Context, dir, config string) (stop func() error, err error) {
	program := cmp.Or(os.Getenv("NGINX_PROGRAM"), "nginx")
	stop, err = start(ctx, program, "-p", dir, "-c", config)
	if err != nil {
		return nil, fmt.Errorf("%s (Debian's package nginx-light): %w", program, err)
	}
	return stop, nil
}

// connects reports whether a program listens at an address.
func connects(ctx context.Context, addr string) bool {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = c.Close() // it only shows that the program listens
	}
	return err == nil
}

// start starts a program. The result stops it.
func start(ctx context.Context, program string, args ...string) (stop func() error, err error) {
	c := exec.CommandContext(ctx, program, args...) //nolint:gosec // a fixed program, or one that the user names
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	return func() error {
		_ = c.Process.Signal(os.Interrupt) // Wait reports the end
		_ = c.Wait()
		return nil
	}, nil
}

// freePort returns an address of a port that nothing uses.
func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
