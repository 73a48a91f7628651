package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository creates a repository with one commit and returns its folder and the commit.
func repository(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = smallModule(t)
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "a: begin"},
		{"rev-parse", "HEAD"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		commit = strings.TrimSpace(string(out))
	}
	return dir, commit
}

// An apidiff replaces the Go command. It runs the real one and counts.
type apidiff struct {
	t       *testing.T
	report  string
	err     error // of writing the export data
	exports int   // the number of times that export data were written
}

func (a *apidiff) run(ctx context.Context, dir string, args ...string) (string, error) {
	if args[0] != "go" {
		return command(ctx, dir, args...)
	}
	last := args[len(args)-1]
	if last != module {
		a.t.Errorf("apidiff runs for %s, want %s", last, module)
	}
	i := slices.Index(args, "-w")
	if i < 0 {
		if _, err := os.Stat(args[len(args)-2]); err != nil {
			a.t.Errorf("apidiff compares without export data: %v", err)
		}
		return a.report, nil
	}
	a.exports++
	if _, err := os.Stat(filepath.Join(dir, "a.go")); err != nil {
		a.t.Errorf("apidiff writes export data outside of a worktree: %v", err)
	}
	return "", errors.Join(a.err, os.WriteFile(args[i+1], nil, 0o600))
}

func (a *apidiff) comparison(dir string) comparison {
	return comparison{dir: dir, module: module, run: a.run, apidiff: "x@v1", cache: filepath.Join(dir, ".cache")}
}

// wantOneWorktree fails the test if a worktree or an unfinished file was left.
func wantOneWorktree(t *testing.T, c comparison) {
	t.Helper()
	out, err := command(t.Context(), c.dir, "git", "worktree", "list")
	if err != nil || strings.Count(out, "\n") != 1 {
		t.Errorf("worktrees %q, %v; want the first alone", out, err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.cache, "*.unfinished*")); len(left) > 0 {
		t.Errorf("unfinished files left: %q", left)
	}
}

func TestCompare(t *testing.T) {
	dir, commit := repository(t)
	fake := &apidiff{t: t}
	c := fake.comparison(dir)
	file := filepath.Join(dir, "base")
	for _, step := range []struct {
		name, base, report string
		err                error
		ok                 bool
		output, wantErr    string
	}{
		{name: "no file", ok: true, output: "no API is frozen"},
		{name: "no commit", base: "# later\n\n", ok: true, output: "no API is frozen"},
		{name: "commit of elsewhere", base: strings.Repeat("0123", 10), wantErr: "git fetch origin 0123"},
		{name: "option as a commit", base: "--all", wantErr: "this clone does not have it"},
		{name: "export fails", base: commit, err: io.ErrUnexpectedEOF, wantErr: io.ErrUnexpectedEOF.Error()},
		{name: "no change", base: commit + " # v1.0.0\n", ok: true, output: "compatible with " + commit},
		{name: "exempt change", base: commit, report: "- ./plugins/secret.One: removed\n", ok: true, output: "compatible with"},
		{name: "change", base: "HEAD", report: "- Front.Door: removed\n", output: "- Front.Door: removed\nincompatible with HEAD, which api/base names: 1"},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.base != "" {
				write(t, dir, map[string]string{"base": step.base})
			}
			fake.report, fake.err = step.report, step.err
			var out strings.Builder
			ok, err := c.check(t.Context(), file, &out)
			if ok != step.ok || !strings.HasPrefix(out.String(), step.output) {
				t.Errorf("check = %t, output %q; want %t, %q", ok, &out, step.ok, step.output)
			}
			if (err != nil) != (step.wantErr != "") || err != nil && !strings.Contains(err.Error(), step.wantErr) {
				t.Errorf("error = %v, want %q", err, step.wantErr)
			}
			wantOneWorktree(t, c)
		})
	}
	if fake.exports != 2 {
		t.Errorf("export data were written %d times; want 2: a failure, and once for all comparisons after it", fake.exports)
	}
}

// The command fails if the change is incompatible.
func TestRunCompares(t *testing.T) {
	dir, commit := repository(t)
	fake := &apidiff{t: t}
	p := plan{dir: dir, list: "api/v1.txt", base: "api/base", cache: ".cache", limits: [3]int{2, 1, 2}, command: fake.run}
	write(t, dir, map[string]string{p.list: smallList, p.base: commit})
	if err := run(t.Context(), &p, io.Discard); err != nil {
		t.Errorf("without a change: %v", err)
	}
	fake.report = "- Front: removed\n"
	if err := run(t.Context(), &p, io.Discard); !errors.Is(err, errFailed) {
		t.Errorf("with an incompatible change: %v, want %v", err, errFailed)
	}
}

// A cancelled comparison removes its worktree.
func TestCompareCancelled(t *testing.T) {
	dir, commit := repository(t)
	ctx, cancel := context.WithCancel(t.Context())
	fake := &apidiff{t: t}
	c := fake.comparison(dir)
	c.run = func(ctx context.Context, dir string, args ...string) (string, error) {
		if args[0] == "go" {
			cancel()
			return "", ctx.Err()
		}
		return command(ctx, dir, args...)
	}
	write(t, dir, map[string]string{"base": commit})
	if _, err := c.check(ctx, filepath.Join(dir, "base"), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	wantOneWorktree(t, c)
}

func TestBreaking(t *testing.T) {
	report := `- ./framework/resource.(*Set).Find: removed
- ./framework/resource.Source: removed
- ./framework/resource.Source.Observe: added
- ./framework/resource.(*Source).Close: removed
- ./framework/resource.Sources: removed
- ./framework/runtime/wire.(*Reader).Next: changed from func() bool to func() error
- ./plugins/secret.Update.Name: removed
- ./plugins/cluster.Update, method set of *Update: removed
- package example.com/module/plugins/secret: removed
- package example.com/module/plugins/cluster: removed
- package example.com/module: removed
- (*Client).Close: removed
- New: changed from func() to func(./framework/client.Options)
- google.golang.org/grpc.ClientConn: removed
a line of another form
`
	want := strings.Split(`- ./framework/resource.(*Set).Find: removed
- ./framework/resource.Sources: removed
- ./plugins/cluster.Update, method set of *Update: removed
- package example.com/module/plugins/cluster: removed
- package example.com/module: removed
- (*Client).Close: removed
- New: changed from func() to func(./framework/client.Options)
- google.golang.org/grpc.ClientConn: removed
a line of another form`, "\n")
	if got := breaking(report, module); !slices.Equal(got, want) {
		t.Errorf("breaking:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
