package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/xdsforge/xdsforge/gen"
)

// descriptorName is the file that -check looks for.
const descriptorName = "resource.yaml"

// compare generates every descriptor below the arguments and prints the differences. It
// reports whether there are none.
func (o *options) compare(ctx context.Context, stdout io.Writer) (bool, error) {
	folders, paths, err := find(o.args)
	if err != nil {
		return false, err
	}
	in, err := o.input(paths)
	if err != nil {
		return false, err
	}
	files, err := gen.Generate(ctx, in)
	if err != nil {
		return false, err
	}
	same := true
	for _, f := range files {
		old, err := os.ReadFile(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(stdout, "missing: %s\n", f.Path)
			same = false
		case err != nil:
			return false, err
		case !bytes.Equal(old, f.Data):
			fmt.Fprintf(stdout, "%s", diff.Diff(f.Path, old, f.Path+" (generated)", f.Data))
			same = false
		}
	}
	for _, folder := range folders {
		orphans, err := gen.Descriptor{Path: filepath.Join(folder, descriptorName)}.Orphans(files)
		if err != nil {
			return false, err
		}
		for _, orphan := range orphans {
			fmt.Fprintf(stdout, "orphaned: %s\n", orphan)
			same = false
		}
	}
	return same, nil
}

// find returns the folders of the arguments, including subfolders if an argument ends in
// "/...", and the descriptors in them.
func find(args []string) (folders, paths []string, err error) {
	if len(args) == 0 {
		args = []string{"./..."}
	}
	for _, arg := range args {
		root, deep := strings.CutSuffix(filepath.ToSlash(arg), "...")
		if !deep {
			folders = append(folders, filepath.Clean(arg))
			paths = append(paths, filepath.Join(arg, descriptorName))
			continue
		}
		err := filepath.WalkDir(filepath.Clean(root+"."), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != filepath.Clean(root+".") && skipped(d.Name()):
				return filepath.SkipDir
			case d.IsDir():
				folders = append(folders, path)
			case d.Name() == descriptorName:
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(folders)
	slices.Sort(paths)
	return slices.Compact(folders), slices.Compact(paths), nil
}

// skipped are the folders that the Go toolchain does not look into.
func skipped(name string) bool {
	return name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}
