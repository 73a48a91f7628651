package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// ofUpdate is the start of a method of the update.
func ofUpdate(name string) *jen.Statement {
	return jen.Func().Params(jen.Id("u").Op("*").Id("Update")).Id(name).Params()
}

// metaMethods write the methods that every update has. They accept a nil update.
func (e *emitter) metaMethods() []jen.Code {
	method := func(name string, result jen.Code, doc string) jen.Code {
		return documented(doc, ofUpdate(name).Add(result).Block(
			jen.Return(jen.Id("u").Dot("about").Call().Dot(name).Call()),
		))
	}
	return []jen.Code{
		method("Name", e.qual(xdstpPkg, "Name"), "Name returns the resource's canonical name."),
		method("Version", jen.String(), "Version returns the version of the first response that had the resource with this content."),
		method("Raw", jen.Index().Byte(), "Raw returns the encoded message as received. It must not be changed."),
		method("Server", jen.Op("*").Add(e.qual(bootstrapPkg, "Server")), "Server returns the bootstrap file's entry of the server that sent the resource."),
		method("Refs", e.qual("iter", "Seq").Types(e.resource("Ref")), "Refs returns the resources that this one names."),
		documented("about returns nil for a nil update.", ofUpdate("about").Op("*").Add(e.resource("Meta")).Block(
			jen.If(jen.Id("u").Op("==").Nil()).Block(jen.Return(jen.Nil())),
			jen.Return(jen.Op("&").Id("u").Dot("meta")),
		)),
	}
}

// printing writes the methods by which people see an update.
func (e *emitter) printing() []jen.Code {
	u := jen.Id("u")
	runtime := func(name string, args ...jen.Code) jen.Code {
		return jen.Return(e.qual(runtimePkg, name).Call(args...))
	}
	return []jen.Code{
		documented("String describes the update on one line. It shows the fields that are set, the length of long lists, and no secrets.",
			ofUpdate("String").String().Block(runtime("Format", u))),
		documented("LogValue returns the update's name, version and server for logs.",
			ofUpdate("LogValue").Add(e.qual("log/slog", "Value")).Block(runtime("LogValue", u))),
		documented("MarshalJSON describes the update with all fields that are set, and no secrets. The JSON cannot be unmarshalled; use Raw instead.",
			ofUpdate("MarshalJSON").Params(jen.Index().Byte(), jen.Error()).Block(runtime("MarshalJSON", jen.Id("messageName"), u))),
	}
}

// proto writes the method that unmarshals the whole message.
func (e *emitter) proto() jen.Code {
	m := e.ident(e.pkg.Message.GoIdent)
	return documented("Proto unmarshals the whole message.",
		ofUpdate("Proto").Params(e.message(e.pkg.Message), jen.Error()).Block(
			jen.Id("m").Op(":=").New(m),
			jen.If(jen.Id("err").Op(":=").Add(e.qual(protoPkg, "Unmarshal")).Call(jen.Id("u").Dot("Raw").Call(), jen.Id("m")), jen.Id("err").Op("!=").Nil()).Block(
				jen.Return(jen.Nil(), e.qual(wirePkg, "Unparseable").Call(jen.Id("messageName"), jen.Id("err"))),
			),
			jen.Return(jen.Id("m"), jen.Nil()),
		))
}

// shownAs is the struct tag that tells package runtime how to show a field; empty: as it is.
func shownAs(f *model.Field) string {
	switch {
	case f.Secret && f.Hidden: // not shown anyway
		return ""
	case f.Secret:
		return "secret"
	case f.Hidden:
		return "shown=" + f.Name
	}
	return ""
}
