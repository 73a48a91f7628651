package emit

import (
	"fmt"

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
	if err != nil {
		return File{}, fmt.Errorf("emit: %s: %w", wireTestFile, err)
	}
	return File{wireTestFile, data}, nil
}

// fuzzTarget writes the fuzz target and WireTest, which other tests use.
func (e *emitter) fuzzTarget(p *model.Package) []jen.Code {
	fields := []jen.Code{e.Src("Plugin: $", e.plugin(p)), jen.Op("Message: messageDecode")}
	if p.Strict {
		fields = append(fields, jen.Op("Strict: true"))
	}
	return []jen.Code{
		e.documented("WireTest is the type with both of its decoders.", "func WireTest() plugintest.Wire {\nreturn plugintest.Wire$\n}", lines(fields...)),
		e.Src("func FuzzWire(f *testing.F) {\nplugintest.FuzzWire(f, WireTest())\n}"),
	}
}

// named is the name of a function or variable in the code. That of the decoder of messages is beside the wire decoder's.
func (e *emitter) named(name string) string {
	if e.wireTest {
		return "message" + upperFirst(name)
	}
	return name
}
