package protoindex

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// rawSuffix is how the name of every declaration ends in which protoc-gen-go
// keeps a file's descriptor.
const rawSuffix = "_rawDesc"

// readStatic finds the descriptors in the sources of packages, by proto path.
// Where two packages have one proto file, the first wins: `go list` puts
// dependencies before their users.
func readStatic(packages []goPackage) map[string]file {
	files := make(map[string]file)
	for _, p := range packages {
		if p.Standard {
			continue
		}
		for _, name := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil || !bytes.Contains(src, []byte(rawSuffix)) {
				continue
			}
			for _, fd := range descriptorsIn(src) {
				if _, ok := files[fd.GetName()]; !ok {
					files[fd.GetName()] = file{proto: fd, importPath: p.ImportPath, name: p.Name}
				}
			}
		}
	}
	return files
}

// descriptorsIn finds the descriptors in one source file. A file with errors is
// read as far as the parser understands it.
func descriptorsIn(src []byte) []*descriptorpb.FileDescriptorProto {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if f == nil && err != nil {
		return nil
	}
	var out []*descriptorpb.FileDescriptorProto
	for n := range ast.Preorder(f) {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Names) != 1 || len(v.Values) != 1 || !strings.HasSuffix(v.Names[0].Name, rawSuffix) {
			continue
		}
		raw, err := evaluate(nil, v.Values[0])
		fd := new(descriptorpb.FileDescriptorProto)
		if err == nil && proto.Unmarshal(raw, fd) == nil && fd.GetName() != "" {
			out = append(out, fd)
		}
	}
	return out
}

var errNotConstant = errors.New("not a constant of bytes")

// evaluate appends the bytes that an expression stands for: a concatenation of
// string literals, a []byte literal, or a conversion of one into the other.
func evaluate(b []byte, e ast.Expr) ([]byte, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return append(b, s...), err
	case *ast.ParenExpr:
		return evaluate(b, e.X)
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return evaluate(b, e.Args[0])
		}
	case *ast.BinaryExpr:
		if b, err := evaluate(b, e.X); err == nil && e.Op == token.ADD {
			return evaluate(b, e.Y)
		}
	case *ast.CompositeLit:
		for _, x := range e.Elts {
			lit, ok := x.(*ast.BasicLit)
			if !ok {
				return nil, errNotConstant
			}
			n, err := strconv.ParseUint(lit.Value, 0, 8)
			if err != nil {
				return nil, errNotConstant
			}
			b = append(b, byte(n))
		}
		return b, nil
	}
	return nil, errNotConstant
}
