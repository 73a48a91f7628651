package protoindex

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// probeDir is the folder, below the descriptor's, in which the program seems to
// stand. It exists in the overlay only.
const probeDir = "xdsgen_probe"

// probeSource prints, as a FileDescriptorSet, the descriptors of everything
// that the blank import links in, with the Go package that each file is really
// in as its go_package.
const probeSource = `package main

import (
	"os"
	"reflect"
	"strings"

	_ %q
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	packages := make(map[string]string)
	protoregistry.GlobalTypes.RangeMessages(func(t protoreflect.MessageType) bool {
		packages[t.Descriptor().ParentFile().Path()] = packageOf(reflect.TypeOf(t.Zero().Interface()).Elem())
		return true
	})
	protoregistry.GlobalTypes.RangeEnums(func(t protoreflect.EnumType) bool {
		packages[t.Descriptor().ParentFile().Path()] = packageOf(reflect.TypeOf(t.New(0)))
		return true
	})
	set := new(descriptorpb.FileDescriptorSet)
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		fd := protodesc.ToFileDescriptorProto(f)
		if fd.Options == nil {
			fd.Options = new(descriptorpb.FileOptions)
		}
		if p := packages[f.Path()]; p != "" {
			fd.Options.GoPackage = proto.String(p)
		}
		set.File = append(set.File, fd)
		return true
	})
	b, err := proto.Marshal(set)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(b)
}

func packageOf(t reflect.Type) string {
	name, _, _ := strings.Cut(t.String(), ".")
	return t.PkgPath() + ";" + name
}
`

// probe runs a program that imports the packages, one by one, to read their descriptors. It
// adds the descriptors to files. It returns the reason why a package failed.
func probe(ctx context.Context, dir string, packages []string, files map[string]file) map[string]error {
	failed := make(map[string]error)
	for _, path := range packages {
		set, err := runProbe(ctx, dir, path)
		if err == nil {
			err = readSet(set, files)
		}
		if err != nil {
			failed[path] = fmt.Errorf("%w: the descriptor of %s cannot be read from its source, and a program that imports it fails: %w", ErrNoGoPackage, path, err)
		}
	}
	return failed
}

func runProbe(ctx context.Context, dir, path string) (set []byte, err error) {
	tmp, err := os.MkdirTemp("", "xdsgen")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	source, overlay := filepath.Join(tmp, "main.go"), filepath.Join(tmp, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(dir, probeDir, "main.go"): source}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(source, fmt.Appendf(nil, probeSource, path), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "-overlay", overlay, "./"+probeDir) //nolint:gosec // our own file
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if set, err = cmd.Output(); err != nil {
		return nil, fmt.Errorf("go run: %w: %s", err, firstLine(stderr.String()))
	}
	return set, nil
}

// firstLine is the first line that is not the toolchain's heading of a package.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}
