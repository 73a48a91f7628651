package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// copyTree copies the files of the module that git has, or would take in, to a new
// folder. Nobody changes the copy while the tests run.
func copyTree(ctx context.Context, from, to string) error {
	list, err := output(ctx, from, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		info, err := os.Lstat(source)
		if os.IsNotExist(err) || err == nil && !info.Mode().IsRegular() {
			continue // removed, but not yet in the index; or a link, which Go ignores
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, text, info.Mode().Perm()); err != nil { //nolint:gosec // below the new folder, by names of git
			return err
		}
	}
	return nil
}

// A drawRepository is a git repository in which exactly the drawn lines of a folder
// differ from the only commit. Gremlins skips mutants on unchanged lines.
type drawRepository struct {
	environment []string
}

// newDrawRepository makes a repository in store for the Go files of folder. drawn
// holds line numbers by file name.
func newDrawRepository(ctx context.Context, store, folder string, drawn map[string]map[int]bool) (*drawRepository, error) {
	committed := filepath.Join(store, "committed")
	if err := os.MkdirAll(committed, 0o700); err != nil {
		return nil, err
	}
	for name, lines := range drawn {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(committed, name), markLines(text, lines), 0o600); err != nil {
			return nil, err
		}
	}
	r := &drawRepository{environment: gitEnvironment(filepath.Join(store, "git"), committed)}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"config", "diff.context", "0"}, // gremlins reads a hunk as one range of lines
		{"add", "--all"},
		{"-c", "user.name=mutate", "-c", "user.email=mutate@localhost", "commit", "--quiet", "--message=Before the draw"},
	} {
		if _, err := output(ctx, committed, r.environment, "git", args...); err != nil {
			return nil, err
		}
	}
	r.environment = gitEnvironment(filepath.Join(store, "git"), folder)
	return r, nil
}

func gitEnvironment(repository, folder string) []string {
	return []string{
		"GIT_DIR=" + repository, "GIT_WORK_TREE=" + folder,
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	}
}

// markLines changes the given lines, counted from 1, of a file.
func markLines(text []byte, lines map[int]bool) []byte {
	var marked bytes.Buffer
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if lines[n] {
			marked.WriteString("drawn ")
		}
		marked.Write(line)
	}
	return marked.Bytes()
}

// output runs a command and returns its standard output. The error ends with the last 4,000
// bytes of the command's output.
func output(ctx context.Context, folder string, environment []string, name string, args ...string) (string, error) {
	return outputTo(ctx, io.Discard, folder, environment, name, args...)
}

// outputTo also copies the output to w while the command runs.
func outputTo(ctx context.Context, w io.Writer, folder string, environment []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // commands of this program
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), environment...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, w), &problems
	if err := cmd.Run(); err != nil {
		all := strings.TrimSpace(out.String() + "\n" + problems.String())
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, all[max(0, len(all)-4000):])
	}
	return out.String(), nil
}
