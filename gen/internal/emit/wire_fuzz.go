package emit

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// wireTestFile is the name of the file with the test of a wire decoder.
const wireTestFile = "wire_gen_test.go"

// wireTest writes the test that compares a wire decoder with the decoder that `decoder:
// message` generates from the same descriptor.
func wireTest(p *model.Package, to Target) (File, error) {
	by := *p
	by.Wire = false
	e := newEmitter(&by)
	e.wireTest = true
	code := append(e.decodeFunctions(), e.validator()...)
	code = append(code, e.fuzzTarget(p)...)
	data, err := e.render(artefact{wireTestFile, code}, to)
	if err == nil {
		data, err = renamed(data, to)
	}
	if err != nil {
		return File{}, fmt.Errorf("emit: %s: %w", wireTestFile, err)
	}
	return File{wireTestFile, data}, nil
}

// fuzzTarget writes the fuzz target and WireTest, which other tests use.
func (e *emitter) fuzzTarget(p *model.Package) []jen.Code {
	fields := []jen.Code{e.Src("Plugin: $", e.plugin(p)), jen.Op("Message: decode")}
	if p.Strict {
		fields = append(fields, jen.Op("Strict: true"))
	}
	return []jen.Code{
		e.documented("WireTest is the type with both of its decoders.", "func WireTest() plugintest.Wire {\nreturn plugintest.Wire$\n}", lines(fields...)),
		e.Src("func FuzzWire(f *testing.F) {\nplugintest.FuzzWire(f, WireTest())\n}"),
	}
}

// messageName is the name of a function of the decoder of messages, beside the wire decoder.
func messageName(name string) string { return "message" + upperFirst(name) }

// renamed is a file whose functions have other names than those of the decoder
// beside it.
func renamed(source []byte, to Target) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = !d.Name.IsExported()
		case *ast.GenDecl:
			if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
				names[v.Names[0].Name] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Doc != nil && names[n.Name.Name] {
				first := n.Doc.List[0]
				first.Text = strings.Replace(first.Text, n.Name.Name, messageName(n.Name.Name), 1)
			}
		case *ast.Ident:
			if names[n.Name] {
				n.Name = messageName(n.Name)
			}
		}
		return true
	})
	var b bytes.Buffer
	if err := format.Node(&b, set, file); err != nil {
		return nil, err
	}
	return formatted(b.Bytes(), to)
}
