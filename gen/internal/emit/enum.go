package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// enumType writes the constants of an enum.
func (e *emitter) enumType(enum *model.Enum) []jen.Code {
	values := make([]jen.Code, len(enum.Values))
	for i, v := range enum.Values {
		values[i] = jen.Id(v.Name).Op("=").Id(enum.Name).Call(e.ident(v.Value.GoIdent))
	}
	name := string(enum.Enum.Desc.FullName())
	return []jen.Code{
		documented(fmt.Sprintf("%s is a value of %s.", enum.Name, name), jen.Type().Id(enum.Name).Int32()),
		documented("The values of "+enum.Name+".", jen.Const().Defs(values...)),
		documented("String returns the value's name in "+name+".",
			jen.Func().Params(jen.Id("x").Id(enum.Name)).Id("String").Params().String().Block(
				jen.Return(e.ident(enum.Enum.GoIdent).Call(jen.Id("x")).Dot("String").Call()),
			)),
	}
}

// decodeEnum writes the function that checks the number of an enum.
func (e *emitter) decodeEnum(enum *model.Enum) jen.Code {
	name, x := "decode"+enum.Name, jen.Id("x")
	doc := name + " reads one " + enum.Name + "."
	params := []jen.Code{jen.Add(x).Add(e.ident(enum.Enum.GoIdent))}
	var body []jen.Code
	if enum.Otherwise != nil {
		doc = name + " reads one " + enum.Name + "; any other number is " + enum.Otherwise.Name + "."
		body = []jen.Code{
			e.unlessListed(enum, jen.Return(jen.Id(enum.Otherwise.Name))),
			jen.Return(jen.Id(enum.Name).Call(x)),
		}
	} else {
		wording := make([]string, len(enum.Values))
		for i, v := range enum.Values {
			wording[i] = string(v.Value.Desc.Name())
		}
		params = []jen.Code{jen.Id("p").Add(e.resource("Path")), params[0], jen.Id("v").Op("*").Add(e.resource("Violations"))}
		body = []jen.Code{
			e.unlessListed(enum, jen.Id("v").Dot("Add").Call(jen.Id("p"), x, jen.Lit(oneOf(wording)))),
			jen.Return(jen.Id(enum.Name).Call(x)),
		}
	}
	return jen.Add(comment(doc)).Line().Func().Id(name).Params(params...).Id(enum.Name).Block(body...)
}

// unlessListed does something where x is none of the values.
func (e *emitter) unlessListed(enum *model.Enum, do jen.Code) jen.Code {
	x := jen.Id("x")
	if len(enum.Values) == 1 {
		return jen.If(jen.Add(x).Op("!=").Add(e.ident(enum.Values[0].Value.GoIdent))).Block(do)
	}
	values := make([]jen.Code, len(enum.Values))
	for i, v := range enum.Values {
		values[i] = e.ident(v.Value.GoIdent)
	}
	return jen.Switch(x).Block(jen.Case(values...), jen.Default().Block(do))
}
