package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// watcher writes the typed views of a client.
func (e *emitter) watcher() []jen.Code {
	update := func() *jen.Statement { return jen.Op("*").Id("Update") }
	short := string(e.pkg.Message.Desc.Name())
	ctx := jen.Id("ctx").Add(e.qual("context", "Context"))
	client := jen.Id("c").Add(e.resource("Source"))
	name := jen.Id("name").String()
	seq := func() *jen.Statement { return e.qual("iter", "Seq").Types(update()) }
	view := func(fn, doc string, params []jen.Code, results jen.Code, call *jen.Statement) jen.Code {
		return documented(doc, jen.Func().Id(fn).Params(params...).Add(results).Block(jen.Return(call)))
	}
	typ := jen.Op("&").Id("typ")
	out := []jen.Code{
		documented("A Watcher is told what becomes of one "+short+".", jen.Type().Id("Watcher").Op("=").Add(e.resource("Watcher")).Types(update())),
		view("Watch", "Watch yields every newest state of the named "+short+" until ctx ends; see [resource.Watch].",
			[]jen.Code{ctx, client, name}, e.qual("iter", "Seq2").Types(update(), jen.Error()),
			e.resource("Watch").Types(update()).Call(jen.Id("ctx"), jen.Id("c"), typ, jen.Id("name"))),
		view("Subscribe", "Subscribe calls w, never concurrently with itself, with every newest state until cancel.",
			[]jen.Code{client, name, jen.Id("w").Id("Watcher")}, jen.Params(jen.Id("cancel").Func().Params(), jen.Id("err").Error()),
			e.resource("Subscribe").Call(jen.Id("c"), typ, jen.Id("name"), jen.Id("w"))),
		view("Get", "Get waits for the first state of the named "+short+"; see [resource.Get].",
			[]jen.Code{ctx, client, name}, jen.Params(update(), jen.Error()),
			e.resource("Get").Types(update()).Call(jen.Id("ctx"), jen.Id("c"), typ, jen.Id("name"))),
		view("Lookup", "Lookup returns what is cached under a name now. It takes no lock and allocates nothing.",
			[]jen.Code{client, jen.Id("name").Add(e.qual(xdstpPkg, "Name"))}, jen.Params(update(), jen.Bool()),
			e.resource("Lookup").Types(update()).Call(jen.Id("c"), typ, jen.Id("name"))),
		view("LookupString", "LookupString is [Lookup] by a name that is still to be parsed.",
			[]jen.Code{client, name}, jen.Params(update(), jen.Bool()),
			e.resource("LookupString").Types(update()).Call(jen.Id("c"), typ, jen.Id("name"))),
		view("All", "All yields what is cached, of all authorities.",
			[]jen.Code{client}, seq(), e.resource("All").Types(update()).Call(jen.Id("c"), typ)),
		view("Referring", "Referring yields what is cached and refers to r.",
			[]jen.Code{client, jen.Id("r").Add(e.resource("Ref"))}, seq(),
			e.resource("Referring").Types(update()).Call(jen.Id("c"), typ, jen.Id("r"))),
	}
	if p := e.pkg; p.Wildcard || p.Globs || p.Collected != "" {
		member := e.resource("Member").Types(update())
		out = append(out, view("WatchCollection", "WatchCollection yields what becomes of the members of a collection: "+e.collections()+"; see [resource.WatchCollection].",
			[]jen.Code{ctx, client, name}, e.qual("iter", "Seq2").Types(member, jen.Error()),
			e.resource("WatchCollection").Types(update()).Call(jen.Id("ctx"), jen.Id("c"), typ, jen.Id("name"))))
	}
	return out
}

// collections says which collections of the type there are.
func (e *emitter) collections() string {
	var out []string
	if e.pkg.Wildcard {
		out = append(out, "\"*\", which is all that the control plane has")
	}
	if e.pkg.Globs {
		out = append(out, "an xdstp name that ends in \"/*\"")
	}
	if e.pkg.Collected != "" {
		out = append(out, "the xdstp name of a "+e.pkg.Collected)
	}
	return strings.Join(out, ", or ")
}

// shard writes what makes the cache of one authority.
func (e *emitter) shard() []jen.Code {
	return []jen.Code{
		jen.Add(comment("newShard makes the cache of one authority.")).Line().
			Func().Id("newShard").Params().Add(e.resource("Shard")).Block(
			jen.Return(e.qual(runtimePkg, "NewShard").Types(jen.Op("*").Id("Update")).Call()),
		),
	}
}

// register writes the type that the framework sees.
func (e *emitter) register() []jen.Code {
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
		jen.Add(comment("This code and package resource must be of one contract: where the name is not there, run go generate.")).Line().
			Const().Id("_").Op("=").Add(e.resource("Contract1RerunGoGenerateIfMissing")),
		jen.Add(comment("typ is never changed.")).Line().Var().Id("typ").Op("=").Add(e.resource("Descriptor")).Add(multiline(fields...)),
		documented("Type is the resource type, for the functions of package resource.",
			jen.Func().Id("Type").Params().Op("*").Add(e.resource("Descriptor")).Block(jen.Return(jen.Op("&").Id("typ")))),
		documented("Register makes the type known. What is wrong is reported when r is frozen.",
			jen.Func().Id("Register").Params(jen.Id("r").Add(e.resource("Registrar"))).Block(
				jen.Id("r").Dot("Register").Call(jen.Op("&").Id("typ")),
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
