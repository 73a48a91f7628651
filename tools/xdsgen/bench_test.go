package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkMany runs the command once for 500 packages below a folder. It is built before. "write" writes
// all files, and "unchanged" finds that every file has its content.
func BenchmarkMany(b *testing.B) {
	const packages = 500
	command := filepath.Join(b.TempDir(), "xdsgen")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", command, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	dir := manyPackages(b, packages)
	run := func(b *testing.B) {
		b.Helper()
		cmd := exec.CommandContext(b.Context(), command, "./...")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			each(b, dir, os.Remove)
			b.StartTimer()
			run(b)
		}
		if n := each(b, dir, func(string) error { return nil }); n < packages {
			b.Errorf("%d files of %d packages", n, packages)
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		run(b)
		old := time.Now().Add(-time.Hour).Truncate(time.Second)
		each(b, dir, func(path string) error { return os.Chtimes(path, old, old) })
		for b.Loop() {
			run(b)
		}
		each(b, dir, func(path string) error {
			info, err := os.Stat(path)
			if err == nil && !info.ModTime().Equal(old) {
				err = fmt.Errorf("%s was written again", path)
			}
			return err
		})
	})
}

// manyPackages returns a module with descriptors of this repository, one in each of n packages.
func manyPackages(b *testing.B, n int) string {
	b.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	var descriptors []string
	for _, folder := range []string{"gen/internal/outputtest", "plugins"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*", descriptorName))
		if err != nil || len(found) == 0 {
			b.Fatalf("descriptors in %s: %v, %v", folder, found, err)
		}
		descriptors = append(descriptors, found...)
	}
	dir := b.TempDir()
	if err := copyModule(root, dir); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		data, err := os.ReadFile(descriptors[i%len(descriptors)])
		if err != nil {
			b.Fatal(err)
		}
		folder := filepath.Join(dir, fmt.Sprint("p", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, descriptorName), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// each calls f for the generated files below a folder, and returns their number.
func each(b *testing.B, dir string, f func(path string) error) (n int) {
	b.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".gen.go") && !strings.HasSuffix(path, "_gen_test.go") {
			return err
		}
		n++
		return f(path)
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}
