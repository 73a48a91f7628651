package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/xdsforge/xdsforge/gen"
)

// mostTaken is the number of existing files that an error lists.
const mostTaken = 5

// scaffold starts a package for the message that is the first argument, in the
// folder that is the second.
func (o *options) scaffold(ctx context.Context, stdout io.Writer) (_ bool, err error) {
	folder := "."
	if len(o.args) > 1 {
		folder = o.args[1]
	}
	in, err := o.input(o.sets)
	if err != nil {
		return false, err
	}
	created, err := createFolder(filepath.Join(folder, "testdata"))
	defer func() {
		for _, dir := range created {
			if err != nil {
				os.Remove(dir) // it is empty, as writeAll writes all files or none
			}
		}
	}()
	if err != nil {
		return false, err
	}
	files, err := gen.Scaffold{Message: o.args[0], GoPackage: o.goPath, Folder: folder, Sets: in.Sets}.Files(ctx)
	if err != nil {
		return false, err
	}
	var taken []string
	for _, f := range files {
		if _, err := os.Lstat(f.Path); err == nil {
			taken = append(taken, f.Path)
		}
	}
	if len(taken) > 0 {
		more := ""
		if n := len(taken) - mostTaken; n > 0 {
			taken, more = taken[:mostTaken], fmt.Sprintf(" and %d more", n)
		}
		return false, fmt.Errorf("would replace %s%s", strings.Join(taken, ", "), more)
	}
	if err := writeAll(files); err != nil {
		return false, err
	}
	cases := 0
	for _, f := range files {
		if filepath.Ext(f.Path) == ".txtar" {
			cases++
		} else {
			fmt.Fprintln(stdout, f.Path)
		}
	}
	fmt.Fprintf(stdout, "%s (test cases: %d)\n", filepath.Join(folder, "testdata"), cases)
	if folder = filepath.ToSlash(filepath.Clean(folder)); folder != "." && !filepath.IsAbs(folder) {
		folder = "./" + folder
	}
	fmt.Fprintf(stdout, "next:\n  go mod tidy\n  go generate %[1]s\n  go test %[1]s\n  go tool xdsgen explain %[1]s\n", folder)
	return true, nil
}

// createFolder creates a folder. It returns the folders that did not exist, the innermost first.
func createFolder(folder string) (created []string, err error) {
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		created = append(created, dir)
	}
	return created, os.MkdirAll(folder, 0o755) //nolint:gosec // source code
}
