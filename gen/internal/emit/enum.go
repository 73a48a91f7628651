package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// enumType writes the constants of an enum.
func (e *emitter) enumType(enum *model.Enum) []jen.Code {
	values := slice.Map(enum.Values, func(v model.EnumValue) jen.Code {
		return e.Src("$ = $($)", v.Name, enum.Name, e.ident(v.Value.GoIdent))
	})
	name := string(enum.Enum.Desc.FullName())
	return []jen.Code{
		e.documented(fmt.Sprintf("%s is a value of %s.", enum.Name, name), "type $ int32", enum.Name),
		e.documented("The values of "+enum.Name+".", "const (\n$\n)", values),
		e.documented("String returns the value's name in "+name+".",
			"func (x $) String() string {\nreturn $(x).String()\n}", enum.Name, e.ident(enum.Enum.GoIdent)),
	}
}

// decodeEnum writes the function that checks the number of an enum.
func (e *emitter) decodeEnum(enum *model.Enum) jen.Code {
	name := e.named("decode" + enum.Name)
	doc, before, after := name+" reads one "+enum.Name, "p resource.Path, ", ", v *resource.Violations"
	var other jen.Code
	if o := enum.Otherwise; o != nil {
		doc, before, after = doc+"; any other number is "+o.Name, "", ""
		other = e.Src("return $", o.Name)
	} else {
		names := slice.Map(enum.Values, func(v model.EnumValue) string { return model.ValueName(v.Value) })
		other = e.Src("v.AddFirst(p, x, $)", jen.Lit(OneOf(names)))
	}
	values := slice.Map(enum.Values, func(v model.EnumValue) jen.Code { return e.ident(v.Value.GoIdent) })
	check := e.Src("switch x {\ncase $:\ndefault:\n$\n}", list(values...), other)
	if len(values) == 1 {
		check = e.Src("if x != $ {\n$\n}", values[0], other)
	}
	return e.documented(doc+".", "func $($x $$) $ {\n$\nreturn $(x)\n}",
		name, e.Src(before), e.ident(enum.Enum.GoIdent), e.Src(after), enum.Name, check, enum.Name)
}
