package protoindex

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
)

// Comments are the comments of proto files. A descriptor set can have them. Descriptors in Go packages
// have none, but protoc-gen-go copies the comments of messages and fields into its code.
type Comments struct {
	index *Index
	read  map[string]map[string]string // by import path: comments of types, and of fields as "Type.Field"
}

// Comments returns the comments of the loaded messages. It reads source code when it is first asked
// about a package.
func (x *Index) Comments() *Comments {
	return &Comments{index: x, read: make(map[string]map[string]string)}
}

// Message returns the comment of a message, or "".
func (c *Comments) Message(m *protogen.Message) string {
	return c.text(m.Comments.Leading, m.GoIdent, "")
}

// Field returns the comment of a field, or "".
func (c *Comments) Field(f *protogen.Field) string {
	owner := f.Parent.GoIdent
	if f.Oneof != nil && !f.Oneof.Desc.IsSynthetic() {
		owner = f.GoIdent // the struct of the member
	}
	return c.text(f.Comments.Leading, owner, "."+f.GoName)
}

// text returns the comment in a descriptor set, or else that of a Go type or of its field.
func (c *Comments) text(inSet protogen.Comments, of protogen.GoIdent, field string) string {
	if inSet != "" {
		return clean(string(inSet))
	}
	return c.source(of.GoImportPath)[of.GoName+field]
}

// source returns the comments in a Go package that protoc-gen-go generated.
func (c *Comments) source(path protogen.GoImportPath) map[string]string {
	if found, ok := c.read[string(path)]; ok {
		return found
	}
	found := make(map[string]string)
	c.read[string(path)] = found
	p := c.index.packages[string(path)]
	for _, name := range p.GoFiles {
		if !strings.HasSuffix(name, ".pb.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil {
			addComments(f, found)
		}
	}
	return found
}

// addComments adds the comments of the types in a file, and of their fields.
func addComments(f *ast.File, to map[string]string) {
	var doc *ast.CommentGroup
	var name string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return false
		case *ast.GenDecl:
			doc = n.Doc
		case *ast.TypeSpec:
			name = n.Name.Name
			to[name] = clean(doc.Text())
		case *ast.Field:
			for _, field := range n.Names {
				to[name+"."+field.Name] = clean(n.Doc.Text())
			}
		}
		return true
	})
}

var (
	marker    = regexp.MustCompile(`\[#[^\]]*\]`)                       // of Envoy's documentation
	reference = regexp.MustCompile(":[a-z]+:`([^`<]*?)(\\s*<[^>]*>)?`") // of reStructuredText
)

// clean returns a comment as one paragraph, without markup.
func clean(text string) string {
	text = marker.ReplaceAllString(text, "")
	text = reference.ReplaceAllString(text, "$1")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "``", "`")), " ")
}
