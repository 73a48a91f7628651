// Command demo starts examples/demos/status, and runs the commands of xdsctl that look into a process on it.
// It fails if one of them has another exit code than it should, or if the JSON of the program cannot be
// read.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/tools/xdsctl"
)

const timeout = 3 * time.Minute

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	err := run(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "xdsctl-demo")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "status")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./examples/demos/status") //nolint:gosec // a folder of its own
	build.Dir, build.Stdout, build.Stderr = filepath.Join("..", ".."), os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	program := exec.CommandContext(ctx, binary, "-debug", "127.0.0.1:0") //nolint:gosec // the program that was built
	program.Stderr = os.Stderr
	out, err := program.StdoutPipe()
	if err != nil {
		return err
	}
	if err := program.Start(); err != nil {
		return err
	}
	defer func() {
		_ = program.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		_ = program.Wait()
	}()
	page, admin, err := addresses(out)
	if err != nil {
		return err
	}
	if err := readable(ctx, page); err != nil {
		return err
	}
	return commands(ctx, admin, dir)
}

// addresses waits for the line with the addresses of the program.
func addresses(out io.Reader) (page, admin string, err error) {
	line := regexp.MustCompile(`(http://\S+) has the state.*; (\S+) serves CSDS`)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := line.FindStringSubmatch(lines.Text()); m != nil {
			return m[1], m[2], nil
		}
	}
	return "", "", errors.Join(errors.New("examples/demos/status ended before it served its state"), lines.Err())
}

// readable fails if an address does not serve JSON.
func readable(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	clients, _ := v["clients"].([]any)
	if len(clients) == 0 {
		return fmt.Errorf("%s: clients = []; must not be empty", url)
	}
	fmt.Printf("$ curl %s\n%d clients\n\n", url, len(clients))
	return nil
}

// A client is one of the output of the command status.
type client struct {
	Scope     string `json:"scope"`
	Resources []struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		State string `json:"state"`
	} `json:"resources"`
}

// commands runs the commands, and checks their exit codes.
func commands(ctx context.Context, admin, dir string) error {
	text, code := output(ctx, "status", "-o", "json", admin)
	var clients []client
	if err := json.Unmarshal([]byte(text), &clients); err != nil || len(clients) == 0 {
		return fmt.Errorf("status: exit code %d, %d clients, %w", code, len(clients), err)
	}
	want := 0
	for _, c := range clients {
		for _, r := range c.Resources {
			if r.State != "ACKED" && r.State != "REQUESTED" {
				want = 2
			}
		}
	}
	errs := []error{show(ctx, want, "status", admin), show(ctx, 0, "diff", admin, admin)}
	for _, c := range clients {
		if strings.HasPrefix(c.Scope, "xds:") {
			errs = append(errs, target(ctx, admin, dir, c))
		}
	}
	return errors.Join(errs...)
}

// target runs the commands for a target. They fail if a resource of it does.
func target(ctx context.Context, admin, dir string, c client) error {
	want := 0
	for _, r := range c.Resources {
		if r.State != "ACKED" {
			want = 2
		}
	}
	errs := []error{
		show(ctx, want, "tree", c.Scope, "-conn", admin, "-scope", c.Scope),
		show(ctx, want, "route", "-target", c.Scope, "-method", "/demo.Service/Method", "-conn", admin, "-scope", c.Scope),
	}
	for _, r := range c.Resources {
		if r.State != "ACKED" || !strings.HasSuffix(r.Type, ".Cluster") {
			continue
		}
		errs = append(errs, show(ctx, 0, "get", "cds", r.Name, "-conn", admin))
		text, _ := output(ctx, "get", "cds", r.Name, "-conn", admin, "-o", "json")
		var got struct {
			Content json.RawMessage `json:"content"`
		}
		path := filepath.Join(dir, "cluster.json")
		errs = append(errs, json.Unmarshal([]byte(text), &got), os.WriteFile(path, got.Content, 0o600), show(ctx, 0, "validate", path))
		break
	}
	return errors.Join(errs...)
}

// show runs a command and prints its output. It fails if the exit code is not the wanted one.
func show(ctx context.Context, want int, args ...string) error {
	text, code := output(ctx, args...)
	fmt.Printf("$ xdsctl %s\n%s\n", strings.Join(args, " "), text)
	if code != want {
		return fmt.Errorf("xdsctl %s: exit code %d; must be %d", strings.Join(args, " "), code, want)
	}
	return nil
}

func output(ctx context.Context, args ...string) (text string, code int) {
	var b bytes.Buffer
	code = xdsctl.Run(ctx, args, strings.NewReader(""), &b, &b)
	return b.String(), code
}
