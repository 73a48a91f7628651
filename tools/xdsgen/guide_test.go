package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A block is a fenced block of the authors' guide.
type block struct {
	line int
	lang string
	file string // where it goes; empty: nowhere
	text string
}

// guideBlocks are the fenced blocks of the authors' guide.
func guideBlocks(t *testing.T) []block {
	t.Helper()
	data, err := os.ReadFile("../../docs/plugin-authors.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	var open *block
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{line: n}
			open.lang, open.file, _ = strings.Cut(strings.TrimSpace(info), " ")
		case fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return blocks
}

// The test executes every block of the guide. Commands must succeed in order, files are used
// verbatim, and the commands must print the output in the guide. Descriptors without a file are
// generated from by a test of package gen.
func TestGuide(t *testing.T) {
	r := newReader(t)
	ran, output := 0, ""
	for _, b := range guideBlocks(t) {
		switch {
		case b.lang == "sh":
			ran++
			output = r.run(b)
		case b.lang == "text":
			if !strings.Contains(output, b.text) {
				t.Errorf("line %d: the guide shows\n%s\nand this is printed\n%s", b.line, b.text, output)
			}
		case b.file != "":
			r.write(b)
		case b.lang != "yaml":
			t.Errorf("line %d: nothing tests a block of %q", b.line, b.lang)
		}
	}
	if ran < 8 {
		t.Errorf("only %d blocks were run", ran)
	}
}

// A reader follows the guide with a shell, in its own folder.
type reader struct {
	t   *testing.T
	dir string // where the shell is
	env []string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return &reader{t: t, dir: t.TempDir(), env: append(os.Environ(), "ROOT="+root, "GOFLAGS=", "GOWORK=off", "GONOSUMDB=*", "GOPROXY="+proxy(t))}
}

// prelude makes a new module use this repository instead of a released version.
const prelude = `set -e
go() {
	command go "$@"
	if [ "$1 $2" = "mod init" ]; then command go mod edit -replace "github.com/xdsforge/xdsforge=$ROOT"; fi
}
`

// run runs a block's commands and returns their output. The next block is run where they end.
func (r *reader) run(b block) string {
	r.t.Helper()
	where := filepath.Join(r.t.TempDir(), "where")
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", prelude+b.text+"\npwd > "+where)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("line %d: %v\n%s\n%s", b.line, err, b.text, out)
	}
	dir, err := os.ReadFile(where)
	if err != nil {
		r.t.Fatal(err)
	}
	r.dir = string(bytes.TrimSpace(dir))
	return string(out)
}

// write writes a block's file.
func (r *reader) write(b block) {
	r.t.Helper()
	path := filepath.Join(r.dir, b.file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// proxy serves the modules in the cache. So they need no network and are no newer than those of
// this repository. For others it leads to the proxy that is set.
func proxy(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, next, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	downloads := filepath.Join(cache, "cache", "download")
	files := http.FileServer(http.Dir(downloads))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		folder, list := strings.CutSuffix(req.URL.Path, "/list")
		zips, _ := filepath.Glob(filepath.Join(downloads, folder, "*.zip"))
		if !list || len(zips) == 0 {
			files.ServeHTTP(w, req)
			return
		}
		for _, zip := range zips {
			fmt.Fprintln(w, strings.TrimSuffix(filepath.Base(zip), ".zip"))
		}
	}))
	t.Cleanup(server.Close)
	if next == "off" {
		return server.URL
	}
	return server.URL + "," + next
}
