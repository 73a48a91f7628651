package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// shard writes the function that creates the cache of one authority.
func (e *emitter) shard() []jen.Code {
	return []jen.Code{e.documented("newShard returns an empty cache for one authority.",
		"func newShard() resource.Shard {\nreturn runtime.NewShard[*Update]()\n}")}
}

// register writes the type that the framework sees.
func (e *emitter) register() []jen.Code {
	fields := []jen.Code{jen.Op("Name: messageName")}
	for _, property := range []struct {
		name string
		is   bool
	}{{"Complete: true", e.pkg.Complete}, {"Wildcard: true", e.pkg.Wildcard}, {"Globs: true", e.pkg.Globs}} {
		if property.is {
			fields = append(fields, jen.Op(property.name))
		}
	}
	if e.pkg.Collected != "" {
		fields = append(fields, e.Src("Collection: $", jen.Lit(e.pkg.Collected)))
	}
	if e.pkg.NameField != nil {
		fields = append(fields, jen.Op("PeekName: peekName"))
	}
	fields = append(fields, jen.Op("Decode: decode"), jen.Op("NewShard: newShard"))
	return []jen.Code{
		e.documented("This code and package resource must have the same contract version. If the compiler does not find this name, run go generate.",
			fmt.Sprintf("const _ = resource.Contract%dRerunGoGenerateIfMissing", Contract)),
		e.Src("var typ = resource.Define(resource.Spec[*Update]$)", lines(fields...)),
		e.documented("Type returns the handle of the resource type.", "func Type() resource.TypeOf[*Update] {\nreturn typ\n}"),
		e.documented("Register adds the type to a registry. Freeze reports errors.", "func Register(r resource.Registrar) {\nr.Register(typ)\n}"),
	}
}

// conformance writes the test that every type passes.
func (e *emitter) conformance() []jen.Code {
	return []jen.Code{e.Src("func TestConformance(t *testing.T) {\nplugintest.Run(t, $)\n}",
		e.plugin(e.pkg, e.Src("Descriptor: $", jen.Lit(e.pkg.Source)), e.Src("Sum: $", jen.Lit(e.pkg.Sum))))}
}

// plugin is the type as its tests see it, with more fields.
func (e *emitter) plugin(p *model.Package, more ...jen.Code) *jen.Statement {
	fields := []jen.Code{
		jen.Op("Type: Type()"),
		e.Src("Message: func() proto.Message {\nreturn new($)\n}", e.ident(p.Message.GoIdent)),
	}
	if p.NameField != nil {
		fields = append(fields, e.Src("NameField: $", jen.Lit(string(p.NameField.Desc.Name()))))
	}
	if len(p.Inlined) > 0 {
		names := slice.Map(p.Inlined, func(name string) jen.Code { return jen.Lit(name) })
		fields = append(fields, e.Src("Inlined: []string{$}", list(names...)))
	}
	return e.Src("plugintest.Plugin$", lines(append(fields, more...)...))
}
