package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/gen"
)

// doc writes a page for each type into the folder of -out, and deletes pages of deleted descriptors.
// With -check, it prints the differences instead, and reports whether there are none.
func (o *options) doc(ctx context.Context, stdout io.Writer) (bool, error) {
	_, paths, err := find(o.args)
	if err != nil {
		return false, err
	}
	inputs, err := o.inputs(paths)
	if err != nil {
		return false, err
	}
	var pages []gen.File
	for _, in := range inputs {
		files, err := in.Pages(ctx, o.out)
		if err != nil {
			return false, err
		}
		pages = append(pages, files...)
	}
	orphans, err := orphanedPages(o.out)
	if err != nil {
		return false, err
	}
	if o.checks {
		return checkPages(pages, orphans, stdout)
	}
	if foreign := gen.Foreign(pages); len(foreign) > 0 {
		return false, fmt.Errorf("would replace hand-written files; move them away: %s", strings.Join(foreign, ", "))
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil { //nolint:gosec // documentation
		return false, err
	}
	if err := writeAll(slices.DeleteFunc(pages, unchanged)); err != nil {
		return false, err
	}
	for _, path := range orphans {
		if err := os.Remove(path); err != nil {
			return false, err
		}
	}
	return true, nil
}

func checkPages(pages []gen.File, orphans []string, stdout io.Writer) (bool, error) {
	same := len(orphans) == 0
	for _, path := range orphans {
		fmt.Fprintf(stdout, "orphaned: %s\n", path)
	}
	for _, f := range pages {
		unchanged, err := compare(f, stdout)
		if err != nil {
			return false, err
		}
		same = same && unchanged
	}
	return same, nil
}

// orphanedPages returns the pages in a folder whose descriptors do not exist.
func orphanedPages(folder string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		source, generated := gen.PageSource(data)
		if !generated {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, source)); errors.Is(err, fs.ErrNotExist) {
			out = append(out, name)
		}
	}
	return out, nil
}
