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

// check generates every descriptor below the arguments and prints the differences. It
// reports whether there are none. A descriptor with errors does not hide the differences of
// others.
func (o *options) check(ctx context.Context, stdout io.Writer) (bool, error) {
	args := o.args
	if len(args) == 0 {
		args = []string{"./..."}
	}
	folders, paths, err := find(args)
	if err != nil {
		return false, err
	}
	inputs, err := o.inputs(paths)
	if err != nil {
		return false, err
	}
	same := true
	var files []gen.File
	broken := make(map[string]bool) // folders of descriptors with errors
	for _, in := range inputs {
		generated, faults, err := generateValid(ctx, *in)
		if err != nil {
			return false, err
		}
		files = append(files, generated...)
		for _, f := range faults {
			broken[filepath.Dir(f.File)] = true
		}
		if len(faults) > 0 {
			o.report(faults)
			same = false
		}
	}
	for _, f := range files {
		unchanged, err := compare(f, stdout)
		if err != nil {
			return false, err
		}
		same = same && unchanged
	}
	orphans := 0
	for _, folder := range folders {
		if broken[relative(folder)] {
			continue
		}
		found, err := gen.Descriptor{Path: filepath.Join(relative(folder), descriptorName)}.Orphans(files)
		if err != nil {
			return false, err
		}
		for _, orphan := range found {
			fmt.Fprintf(stdout, "orphaned: %s\n", orphan)
		}
		orphans += len(found)
	}
	if len(paths)+orphans == 0 {
		return false, fmt.Errorf("nothing to check: there is no %s in %s", descriptorName, strings.Join(args, ", "))
	}
	return same && orphans == 0, nil
}

// generateValid generates the code of all descriptors without errors.
func generateValid(ctx context.Context, in gen.Input) (files []gen.File, faults gen.DiagnosticsError, err error) {
	files, err = gen.Generate(ctx, in)
	if !errors.As(err, &faults) {
		return files, nil, err
	}
	in.Descriptors = slices.DeleteFunc(slices.Clone(in.Descriptors), func(d gen.Descriptor) bool {
		return slices.ContainsFunc(faults, func(f gen.Diagnostic) bool { return f.File == d.Path })
	})
	files, err = gen.Generate(ctx, in)
	return files, faults, err
}

// compare prints the difference of a generated file from the existing one. It reports
// whether there is none.
func compare(f gen.File, stdout io.Writer) (bool, error) {
	old, err := os.ReadFile(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprintf(stdout, "missing: %s\n", f.Path)
		return false, nil
	case err != nil:
		return false, err
	case !bytes.Equal(old, f.Data):
		fmt.Fprintf(stdout, "%s", diff.Diff(f.Path, old, f.Path+" (generated)", f.Data))
		return false, nil
	}
	return true, nil
}
