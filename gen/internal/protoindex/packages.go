package protoindex

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// GoPackage is the import path of the Go package that a message is in, where
// that follows from the message's name: for envoy.*, xds.*, udpa.* and
// google.protobuf.*. Otherwise it is empty.
func GoPackage(message string) string {
	path := strings.ReplaceAll(protoPackage.FindString(message), ".", "/")
	switch root, _, _ := strings.Cut(path, "/"); root {
	case "envoy":
		return "github.com/envoyproxy/go-control-plane/" + path
	case "xds", "udpa":
		return "github.com/cncf/xds/go/" + path
	case "google":
		if name, ok := wellKnown()[strings.TrimPrefix(message, "google.protobuf.")]; ok {
			return "google.golang.org/protobuf/types/known/" + name
		}
	}
	return ""
}

// protoPackage is the package of a protobuf message in its full name.
var protoPackage = regexp.MustCompile(`^[^.\p{Lu}][^.]*(\.[^.\p{Lu}][^.]*)*`)

func wellKnown() map[string]string {
	return map[string]string{
		"Any": "anypb", "Duration": "durationpb", "Empty": "emptypb", "FieldMask": "fieldmaskpb",
		"Struct": "structpb", "Value": "structpb", "ListValue": "structpb", "Timestamp": "timestamppb",
		"BoolValue": "wrapperspb", "BytesValue": "wrapperspb", "DoubleValue": "wrapperspb",
		"FloatValue": "wrapperspb", "Int32Value": "wrapperspb", "Int64Value": "wrapperspb",
		"StringValue": "wrapperspb", "UInt32Value": "wrapperspb", "UInt64Value": "wrapperspb",
	}
}

// goPackage is the output of `go list` for a package.
type goPackage struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string
	Standard   bool
	Error      *struct{ Err string }
}

// problem returns the toolchain's error about a package on one line, with the command to
// run. If go.sum lacks the module of the package, the toolchain suggests downloading it.
// The actual cause is that go.mod lacks a requirement.
func (p goPackage) problem() string {
	text := strings.Join(strings.Fields(p.Error.Err), " ")
	if before, _, found := strings.Cut(text, "; to add: go mod download "); found {
		return before + "; to add it: go get " + p.ImportPath
	}
	return text
}

// list asks the Go toolchain for packages and all that they import, in the
// order of dependency.
func list(ctx context.Context, dir string, paths []string) ([]goPackage, error) {
	args := slices.Concat([]string{"list", "-e", "-deps", "-json=ImportPath,Dir,Name,GoFiles,Standard,Error", "--"}, paths)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // import paths, behind the end of flags
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("protoindex: go list in %s: %w: %s", dir, err, strings.TrimSpace(stderr.String()))
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p goPackage
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("protoindex: go list: %w", err)
		}
		packages = append(packages, p)
	}
	return packages, nil
}
