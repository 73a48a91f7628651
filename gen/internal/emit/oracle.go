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
	gofumpt "mvdan.cc/gofumpt/format"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// oracleFile is the name of the file with the test of a wire decoder.
const oracleFile = "wire_gen_test.go"

// oracle writes the test that compares a wire decoder with the decoder that `decoder:
// message` generates from the same descriptor.
func oracle(p *model.Package, to Target) (File, error) {
	by := *p
	by.Wire = false
	e := newEmitter(&by)
	e.oracle = true
	var code []jen.Code
	for e.changed = true; e.changed; {
		e.changed = false
		code = append(e.decodeFunctions(), e.validator()...)
	}
	code = append(code, e.fuzzTarget(p)...)
	data, err := e.render(artefact{oracleFile, code}, to)
	if err == nil {
		data, err = renamed(data, to)
	}
	if err != nil {
		return File{}, fmt.Errorf("emit: %s: %w", oracleFile, err)
	}
	return File{oracleFile, data}, nil
}

// fuzzTarget writes the fuzz target and WireTest, which other tests use.
func (e *emitter) fuzzTarget(p *model.Package) []jen.Code {
	fields := []jen.Code{
		jen.Id("Plugin").Op(":").Add(e.plugin(p)),
		jen.Id("Message").Op(":").Id("decode"),
	}
	if p.Strict {
		fields = append(fields, jen.Id("Strict").Op(":").True())
	}
	wire := func() *jen.Statement { return e.qual(plugintestPkg, "Wire") }
	return []jen.Code{
		documented("WireTest is the type with both of its decoders.",
			jen.Func().Id("WireTest").Params().Add(wire()).Block(jen.Return(wire().Add(multiline(fields...))))),
		jen.Func().Id("FuzzWire").Params(jen.Id("f").Op("*").Add(e.qual("testing", "F"))).Block(
			e.qual(plugintestPkg, "FuzzWire").Call(jen.Id("f"), jen.Id("WireTest").Call()),
		),
	}
}

// oracleName is the name that a function of the other decoder has.
func oracleName(name string) string { return "message" + upperFirst(name) }

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
		if f, ok := d.(*ast.FuncDecl); ok {
			names[f.Name.Name] = !f.Name.IsExported()
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Doc != nil && names[n.Name.Name] {
				first := n.Doc.List[0]
				first.Text = strings.Replace(first.Text, n.Name.Name, oracleName(n.Name.Name), 1)
			}
		case *ast.Ident:
			if names[n.Name] {
				n.Name = oracleName(n.Name)
			}
		}
		return true
	})
	var b bytes.Buffer
	if err := format.Node(&b, set, file); err != nil {
		return nil, err
	}
	return gofumpt.Source(b.Bytes(), gofumpt.Options{LangVersion: "go1.26", ModulePath: to.Module})
}
