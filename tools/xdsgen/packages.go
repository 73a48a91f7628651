package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsforge/xdsforge/gen"
)

// descriptorName is the file name of descriptors in folders.
const descriptorName = "resource.yaml"

// find returns the folders of the arguments, including subfolders if an argument ends in
// "/...", and the descriptors in them. An argument can also be a descriptor.
func find(args []string) (folders, paths []string, err error) {
	for _, arg := range args {
		root, deep := strings.CutSuffix(filepath.ToSlash(arg), "...")
		dir := filepath.Clean(arg)
		if deep {
			dir = filepath.Clean(root + ".")
		}
		info, err := os.Stat(dir)
		switch {
		case deep && err != nil:
			return nil, nil, err
		case !deep && (err != nil || !info.IsDir()):
			paths = append(paths, arg)
			continue
		case !deep:
			folders = append(folders, dir)
			paths = append(paths, filepath.Join(arg, descriptorName))
			continue
		}
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != dir && skipped(d.Name()):
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

// inputs reads descriptors, and the descriptor sets that the command line and the go:generate lines
// of the packages name. Descriptors with the same sets are one input.
func (o *options) inputs(paths []string) ([]*gen.Input, error) {
	var out []*gen.Input
	bySets := make(map[string]*gen.Input)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sets := slices.Concat(o.sets, setsOf(filepath.Dir(path)))
		key := strings.Join(sets, "\n")
		if bySets[key] == nil {
			in, err := o.input(sets)
			if err != nil {
				return nil, err
			}
			bySets[key] = &in
			out = append(out, &in)
		}
		bySets[key].Descriptors = append(bySets[key].Descriptors, gen.Descriptor{Path: relative(path), Data: data})
	}
	return out, nil
}

// input returns an input without descriptors.
func (o *options) input(sets []string) (gen.Input, error) {
	in := gen.Input{Warn: func(w gen.DiagnosticsError) { o.report(w) }}
	for _, path := range sets {
		data, err := os.ReadFile(path)
		if err != nil {
			return in, err
		}
		if err := proto.Unmarshal(data, new(descriptorpb.FileDescriptorSet)); err != nil {
			return in, fmt.Errorf("%s is not a FileDescriptorSet, which protoc --include_imports -o writes: %w", path, err)
		}
		in.Sets = append(in.Sets, data)
	}
	return in, nil
}

// relative is a path seen from the current folder, if it is below that.
func relative(path string) string {
	if dir, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// setsOf returns the descriptor sets that the go:generate lines of a package name.
func setsOf(folder string) []string {
	var sets []string
	files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(data) {
			args := strings.Fields(string(line))
			if len(args) == 0 || args[0] != "//go:generate" || !slices.ContainsFunc(args, func(a string) bool { return filepath.Base(a) == "xdsgen" }) {
				continue
			}
			for i, arg := range args {
				name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
				if !joined && i+1 < len(args) {
					value = args[i+1]
				}
				if name == "descriptor_set" && strings.HasPrefix(arg, "-") {
					sets = append(sets, filepath.Join(folder, value))
				}
			}
		}
	}
	return sets
}
