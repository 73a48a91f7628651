package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// A runner runs a command in a directory and returns its standard output.
type runner func(ctx context.Context, dir string, args ...string) (string, error)

// command is the runner of real commands. The error has the standard error output.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // git and go, with arguments of this program
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), err
}

// A comparison compares the module in a directory with a commit of its repository.
type comparison struct {
	dir     string
	module  string
	run     runner
	apidiff string // module path and version
	cache   string // absolute path of a folder for export data
}

// check reports whether the module is compatible with the commit that a file names, and
// prints each incompatible change under the promise.
func (c *comparison) check(ctx context.Context, file string, out io.Writer) (bool, error) {
	base, err := readBase(file)
	if err != nil {
		return false, err
	}
	if base == "" {
		fmt.Fprintln(out, "no API is frozen: api/base names no commit to compare with")
		return true, nil
	}
	commit, err := c.run(ctx, c.dir, "git", "rev-parse", "--verify", "--quiet", "--end-of-options", base+"^{commit}")
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, fmt.Errorf("%s names commit %s, and this clone does not have it; run: git fetch origin %s "+
			"(or git fetch --unshallow --tags)", file, base, base)
	}
	if err != nil {
		return false, err
	}
	report, err := c.report(ctx, strings.TrimSpace(commit))
	if err != nil {
		return false, err
	}
	changes := breaking(report, c.module)
	for _, change := range changes {
		fmt.Fprintln(out, change)
	}
	if len(changes) > 0 {
		fmt.Fprintf(out, "incompatible with %s, which api/base names: %d changes\n", base, len(changes))
		return false, nil
	}
	fmt.Fprintf(out, "compatible with %s, which api/base names\n", base)
	return true, nil
}

// readBase returns the first word of a file that stands in no comment.
func readBase(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			return words[0], nil
		}
	}
	return "", nil
}

// report returns the output of apidiff about the incompatible changes since a commit.
func (c *comparison) report(ctx context.Context, commit string) (string, error) {
	exports, err := c.exports(ctx, commit)
	if err != nil {
		return "", err
	}
	return c.run(ctx, c.dir, "go", "run", c.apidiff, "-m", "-incompatible", exports, c.module)
}

// exports returns the file with the export data of a commit. It writes the file once for
// each version of Go and of apidiff, since the Go command must compile the whole commit.
func (c *comparison) exports(ctx context.Context, commit string) (file string, err error) {
	_, version, _ := strings.Cut(c.apidiff, "@")
	file = filepath.Join(c.cache, strings.Join([]string{commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, version}, "-"))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(c.cache, 0o750); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp("", "apicheck-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	unfinished := fmt.Sprintf("%s.unfinished%d", file, os.Getpid())
	if err := c.export(ctx, commit, filepath.Join(temp, "tree"), unfinished); err != nil {
		return "", errors.Join(err, os.RemoveAll(unfinished))
	}
	return file, os.Rename(unfinished, file)
}

// export writes the export data of a commit. It removes the worktree that it makes, also
// when ctx has ended.
func (c *comparison) export(ctx context.Context, commit, tree, file string) (err error) {
	defer func() {
		if _, statErr := os.Stat(tree); statErr == nil {
			_, removeErr := c.run(context.WithoutCancel(ctx), c.dir, "git", "worktree", "remove", "--force", tree)
			err = errors.Join(err, removeErr)
		}
	}()
	_, err = c.run(ctx, c.dir, "git", "-c", "core.hooksPath="+os.DevNull, "worktree", "add", "--detach", tree, commit)
	if err == nil {
		_, err = c.run(ctx, tree, "go", "run", c.apidiff, "-m", "-w", file, c.module)
	}
	return err
}

// change matches the beginning of a line of apidiff: the package's path, unless it is
// the root, and the top-level name.
var change = regexp.MustCompile(`^- (?:\./([^ .:]+)\.)?\(?\*?(\w+)`)

// breaking returns the lines of a report that concern names under the promise. A line
// that it cannot read is among them.
func breaking(report, module string) (lines []string) {
	for line := range strings.Lines(report) {
		line = strings.TrimSpace(line)
		if line != "" && classify(changed(line, module)) == promised {
			lines = append(lines, line)
		}
	}
	return lines
}

// changed returns the package and the top-level name that a line of apidiff concerns. The
// name is empty if the line concerns the package as a whole.
func changed(line, module string) (pkg, name string) {
	if pkg, ok := strings.CutPrefix(line, "- package "+module); ok {
		pkg, _, _ = strings.Cut(strings.TrimPrefix(pkg, "/"), ":")
		return pkg, ""
	}
	if m := change.FindStringSubmatch(line); len(m) == 3 {
		return m[1], m[2]
	}
	return "", ""
}
