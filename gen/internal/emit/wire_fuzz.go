package emit

import (
	"fmt"
	"slices"

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
	code := slices.Concat(e.decodeFunctions(), e.validator(), e.template("wiretest"))
	data, err := e.render(artefact{wireTestFile, code}, to)
	if err != nil {
		return File{}, fmt.Errorf("emit: %s: %w", wireTestFile, err)
	}
	return File{wireTestFile, data}, nil
}

// named is the name of a function or variable in the code. That of the decoder of messages is beside the wire decoder's.
func (e *emitter) named(name string) string {
	if e.wireTest {
		return "message" + upperFirst(name)
	}
	return name
}
