package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// watcher writes the typed views of a client, which call the handle.
func (e *emitter) watcher() []jen.Code {
	update := func() *jen.Statement { return jen.Op("*").Id("Update") }
	short := string(e.pkg.Message.Desc.Name())
	ctx := jen.Id("ctx").Add(e.qual("context", "Context"))
	client := jen.Id("c").Add(e.resource("Client"))
	name := jen.Id("name").String()
	view := func(fn, doc string, params []jen.Code, results jen.Code, args ...jen.Code) jen.Code {
		return documented(doc, jen.Func().Id(fn).Params(params...).Add(results).Block(jen.Return(jen.Id("typ").Dot(fn).Call(args...))))
	}
	named := func(more ...jen.Code) []jen.Code {
		return append([]jen.Code{jen.Id("c"), jen.Id("name")}, more...)
	}
	withContext := func() []jen.Code { return append([]jen.Code{jen.Id("ctx")}, named()...) }
	out := []jen.Code{
		documented("An Event is the state of one "+short+" at one moment. See [resource.Event].",
			jen.Type().Id("Event").Op("=").Add(e.resource("Event")).Types(update())),
		view("Watch", "Watch yields an event for each change of the named "+short+" until ctx ends.",
			[]jen.Code{ctx, client, name}, e.qual("iter", "Seq").Types(jen.Id("Event")), withContext()...),
		view("Subscribe", "Subscribe calls f for each change of the named "+short+" until stop is called. Calls of f never overlap.",
			[]jen.Code{client, name, jen.Id("f").Func().Params(jen.Id("Event"))},
			jen.Params(jen.Id("stop").Func().Params(), jen.Id("err").Error()), named(jen.Id("f"))...),
		view("Get", "Get waits for the first event of the named "+short+" and returns its Update and its Err.",
			[]jen.Code{ctx, client, name}, jen.Params(update(), jen.Error()), withContext()...),
		view("Lookup", "Lookup returns the cached update of a name. It does not subscribe.",
			[]jen.Code{client, name}, jen.Params(update(), jen.Bool()), named()...),
	}
	if p := e.pkg; p.Wildcard || p.Globs || p.Collected != "" {
		out = append(out,
			documented("A MemberEvent is the state of one member of a collection. See [resource.MemberEvent].",
				jen.Type().Id("MemberEvent").Op("=").Add(e.resource("MemberEvent")).Types(update())),
			view("WatchCollection", "WatchCollection yields an event for each change of a member of a collection. The name is "+e.collections()+".",
				[]jen.Code{ctx, client, name}, e.qual("iter", "Seq").Types(jen.Id("MemberEvent")), withContext()...))
	}
	return out
}

// collections describes the collections of the type.
func (e *emitter) collections() string {
	var out []string
	if e.pkg.Wildcard {
		out = append(out, "\"*\" for all resources of the control plane")
	}
	if e.pkg.Globs {
		out = append(out, "an xdstp name that ends in \"/*\"")
	}
	if e.pkg.Collected != "" {
		out = append(out, "the xdstp name of one "+e.pkg.Collected)
	}
	return strings.Join(out, ", or ")
}

// shard writes the function that creates the cache of one authority.
func (e *emitter) shard() []jen.Code {
	return []jen.Code{
		jen.Add(comment("newShard returns an empty cache for one authority.")).Line().
			Func().Id("newShard").Params().Add(e.resource("Shard")).Block(
			jen.Return(e.qual(runtimePkg, "NewShard").Types(jen.Op("*").Id("Update")).Call()),
		),
	}
}

// register writes the type that the framework sees.
func (e *emitter) register() []jen.Code {
	update := func() *jen.Statement { return jen.Op("*").Id("Update") }
	fields := []jen.Code{jen.Id("Name").Op(":").Id("messageName")}
	if e.pkg.Complete {
		fields = append(fields, jen.Id("Complete").Op(":").True())
	}
	for _, collection := range []struct {
		name string
		is   bool
	}{{"Wildcard", e.pkg.Wildcard}, {"Globs", e.pkg.Globs}} {
		if collection.is {
			fields = append(fields, jen.Id(collection.name).Op(":").True())
		}
	}
	if e.pkg.Collected != "" {
		fields = append(fields, jen.Id("Collection").Op(":").Lit(e.pkg.Collected))
	}
	if e.pkg.NameField != nil {
		fields = append(fields, jen.Id("PeekName").Op(":").Id("peekName"))
	}
	fields = append(fields, jen.Id("Decode").Op(":").Id("decode"), jen.Id("NewShard").Op(":").Id("newShard"))
	return []jen.Code{
		jen.Add(comment("This code and package resource must have the same contract version. If the compiler does not find this name, run go generate.")).Line().
			Const().Id("_").Op("=").Add(e.resource("Contract2RerunGoGenerateIfMissing")),
		jen.Var().Id("typ").Op("=").Add(e.resource("Define")).Call(e.resource("Spec").Types(update()).Add(multiline(fields...))),
		documented("Type returns the handle of the resource type.",
			jen.Func().Id("Type").Params().Add(e.resource("TypeOf")).Types(update()).Block(jen.Return(jen.Id("typ")))),
		documented("Register adds the type to a registry. Freeze reports errors.",
			jen.Func().Id("Register").Params(jen.Id("r").Add(e.resource("Registrar"))).Block(
				jen.Id("r").Dot("Register").Call(jen.Id("typ")),
			)),
	}
}

// plugin is the type as its tests see it.
func (e *emitter) plugin(p *model.Package) *jen.Statement {
	fields := []jen.Code{
		jen.Id("Type").Op(":").Id("Type").Call(),
		jen.Id("Message").Op(":").Func().Params().Add(e.qual(protoPkg, "Message")).Block(
			jen.Return(jen.New(e.ident(p.Message.GoIdent))),
		),
	}
	if p.NameField != nil {
		fields = append(fields, jen.Id("NameField").Op(":").Lit(string(p.NameField.Desc.Name())))
	}
	if len(p.Inlined) > 0 {
		names := make([]jen.Code, len(p.Inlined))
		for i, m := range p.Inlined {
			names[i] = jen.Lit(m)
		}
		fields = append(fields, jen.Id("Inlined").Op(":").Index().String().Values(names...))
	}
	return e.qual(plugintestPkg, "Plugin").Add(multiline(fields...))
}

// conformance writes the test that every type passes.
func (e *emitter) conformance() []jen.Code {
	return []jen.Code{
		jen.Func().Id("TestConformance").Params(jen.Id("t").Op("*").Add(e.qual("testing", "T"))).Block(
			e.qual(plugintestPkg, "Run").Call(jen.Id("t"), e.plugin(e.pkg)),
		),
	}
}
