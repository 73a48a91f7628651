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

	"github.com/xdsforge/xdsforge/gen"
)

// generate writes the files of the descriptors in the arguments. It prints the missing
// hooks. The result is always true.
func (o *options) generate(ctx context.Context, stdout io.Writer) (bool, error) {
	_, paths, err := find(o.args)
	if err != nil {
		return false, err
	}
	inputs, err := o.inputs(paths)
	if err != nil {
		return false, err
	}
	var files []gen.File
	var descriptors []gen.Descriptor
	var faults gen.DiagnosticsError
	for _, in := range inputs {
		generated, err := gen.Generate(ctx, *in)
		var list gen.DiagnosticsError
		if err != nil && !errors.As(err, &list) {
			return false, err
		}
		faults = append(faults, list...)
		files, descriptors = append(files, generated...), append(descriptors, in.Descriptors...)
	}
	if len(faults) > 0 {
		return false, faults.Sort()
	}
	if foreign := gen.Foreign(files); len(foreign) > 0 {
		return false, fmt.Errorf("would replace hand-written files; move them away: %s", strings.Join(foreign, ", "))
	}
	var orphans []string
	for _, d := range descriptors {
		found, err := d.Orphans(files)
		if err != nil {
			return false, err
		}
		orphans = append(orphans, found...)
	}
	if err := writeAll(slices.DeleteFunc(slices.Clone(files), unchanged)); err != nil {
		return false, err
	}
	for _, path := range orphans {
		if err := os.Remove(path); err != nil {
			return false, err
		}
	}
	for _, hook := range gen.UnwrittenHooks(files) {
		fmt.Fprintln(stdout, hook)
	}
	return true, nil
}

// unchanged reports whether a file exists with its content.
func unchanged(f gen.File) bool {
	old, err := os.ReadFile(f.Path)
	return err == nil && bytes.Equal(old, f.Data)
}

// writeAll writes all files, or none. It first writes each file to a temporary one beside
// its path, and then renames all of them. If a rename fails, it restores the files that it
// replaced.
func writeAll(files []gen.File) error {
	temporary := make([]string, 0, len(files))
	defer func() {
		for _, name := range temporary {
			os.Remove(name) // gone already where it was moved
		}
	}()
	for _, f := range files {
		name, err := writeBeside(f)
		if name != "" {
			temporary = append(temporary, name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	var undo []func() error
	for i, f := range files {
		back, err := move(temporary[i], f.Path)
		if err != nil {
			for _, u := range undo {
				err = errors.Join(err, u())
			}
			return err
		}
		undo = append(undo, back)
	}
	return nil
}

// move renames a file. undo restores the file that it replaced.
func move(from, to string) (undo func() error, err error) {
	old, err := os.ReadFile(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		undo = func() error { return os.Remove(to) }
	case err != nil:
		return nil, err
	default:
		undo = func() error { return os.WriteFile(to, old, 0o644) } //nolint:gosec // source code
	}
	return undo, os.Rename(from, to)
}

func writeBeside(f gen.File) (name string, err error) {
	w, err := os.CreateTemp(filepath.Dir(f.Path), ".xdsgen-*")
	if err != nil {
		return "", err
	}
	if _, err := w.Write(f.Data); err != nil {
		w.Close() // the first error counts
		return w.Name(), err
	}
	if err := w.Close(); err != nil {
		return w.Name(), err
	}
	return w.Name(), os.Chmod(w.Name(), 0o644) //nolint:gosec // source code
}
