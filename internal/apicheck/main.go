// Command apicheck guards the exported API of this module.
//
//	go run ./internal/apicheck -write  # write api/v1.txt
//	go run ./internal/apicheck         # check api/v1.txt, the limits, and the base
//
// Run it from the root of the module. It exits with 1 if a check fails.
//
// # The list
//
// api/v1.txt has a line for every exported constant, variable, function, type, field and method, so
// that a review shows the additions of a change. It leaves out packages that nobody outside the
// module imports: internal ones, commands, examples, test data. The head of the file counts
// top-level names. The flags -names, -promised and -extra limit the counts; without -enforce, a
// count above its limit is reported and fails nothing.
//
// # The base
//
// The file api/base names a commit. Names of the base that are under the promise of
// compatibility must not change incompatibly; golang.org/x/exp/cmd/apidiff compares
// them. Nothing is compared while the file is missing or empty. The first comparison with
// a commit compiles it in a worktree of its own; later ones read .cache/api.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
)

// A plan holds the flags.
type plan struct {
	dir     string // the root of the module
	list    string // the file of the list, in dir
	base    string // the file that names the commit, in dir
	apidiff string // module path and version
	cache   string // the folder of export data, in dir
	write   bool
	enforce bool
	limits  [3]int // of the counts, in their order
	command runner
}

var errFailed = errors.New("a check failed")

func main() {
	p := plan{command: command}
	flag.StringVar(&p.dir, "dir", ".", "root of the module")
	flag.StringVar(&p.list, "list", "api/v1.txt", "file of the list, below the root")
	flag.StringVar(&p.base, "base", "api/base", "file that names the commit to compare with, below the root")
	flag.StringVar(&p.apidiff, "apidiff", "", "the apidiff command, with its version")
	flag.StringVar(&p.cache, "cache", ".cache/api", "folder for the export data of the base, below the root")
	flag.BoolVar(&p.write, "write", false, "write the list and check nothing")
	flag.BoolVar(&p.enforce, "enforce", false, "fail if a count is above its limit")
	flag.IntVar(&p.limits[0], "names", 490, "limit of exported names without the extra resource types")
	flag.IntVar(&p.limits[1], "promised", 390, "limit of names under the promise")
	flag.IntVar(&p.limits[2], "extra", 95, "limit of names of the extra resource types")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, &p, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "apicheck:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p *plan, out io.Writer) error {
	current, err := load(ctx, p.dir)
	if err != nil {
		return err
	}
	if p.write {
		file := filepath.Join(p.dir, p.list)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(current.String()), 0o600)
	}
	upToDate, err := p.checkList(current.String(), out)
	if err != nil {
		return err
	}
	within := p.checkCounts(current.counts(), out)
	cache, err := filepath.Abs(filepath.Join(p.dir, p.cache))
	if err != nil {
		return err
	}
	c := comparison{dir: p.dir, module: current.module, run: p.command, apidiff: p.apidiff, cache: cache}
	compatible, err := c.check(ctx, filepath.Join(p.dir, p.base), out)
	if err != nil {
		return err
	}
	if !upToDate || !within || !compatible {
		return errFailed
	}
	return nil
}

// checkList reports whether the file has the current list, and prints the difference.
func (p *plan) checkList(want string, out io.Writer) (bool, error) {
	got, err := os.ReadFile(filepath.Join(p.dir, p.list))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if bytes.Equal(got, []byte(want)) {
		return true, nil
	}
	fmt.Fprintf(out, "%s\n%s differs from the code. Review the difference, then run make api.\n",
		diff.Diff(p.list, got, "the code", []byte(want)), p.list)
	return false, nil
}

// checkCounts prints the counts beside their limits. It reports false if one is above
// its limit and the limits are enforced.
func (p *plan) checkCounts(counts [3]count, out io.Writer) bool {
	within := true
	for i, c := range counts {
		verdict := ""
		switch {
		case c.names <= p.limits[i]:
		case p.enforce:
			within, verdict = false, ": too many"
		default:
			verdict = ": too many, not enforced yet"
		}
		fmt.Fprintf(out, "%4d %s, limit %d%s\n", c.names, c.what, p.limits[i], verdict)
	}
	return within
}
