package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// conversion returns the conversion of x. A view has other functions than a message, if the
// conversion reads more than fields of the message itself.
func (f *Func) conversion(c descriptor.Conversion, x jen.Code, at Place, d *model.Field) (pre []jen.Code, value *jen.Statement) {
	name, dc := "convert."+c.Func, ""
	if f.views != nil && len(c.Inputs) > 0 {
		name = "convert.View" + c.Func
		pre, x = f.inputs(c, x, d)
	} else if f.views != nil && c.Takes == "envoy.config.core.v3.Address" {
		name, x = "convert.View"+c.Func, f.Src("$.socket()", x)
	}
	if c.Context {
		dc = "dc, "
	}
	return pre, f.Src(name+"($$, $, v)", dc, f.path(at), x)
}

// inputs is the struct of the values that a conversion takes from x, a view. pre declares the messages that several
// values are in.
func (f *Func) inputs(c descriptor.Conversion, x jen.Code, d *model.Field) (pre []jen.Code, parts *jen.Statement) {
	m := d.Paths[0].Message()
	if d.IsMap() {
		m = d.Paths[0].Leaf().Message.Fields[1].Message
	}
	times := make(map[string]int)        // the number of values in a message, by its path
	variables := make(map[string]string) // the name of a message, by its path
	for _, input := range c.Inputs {
		for _, text := range input.Paths {
			in := model.InputPath(m, text).Parent()
			times[in.String()]++
			if times[in.String()] == 2 && len(in.Steps) > 0 {
				name := local(f.values+len(variables), "x", "y", "z")
				variables[in.String()] = name
				pre = append(pre, f.Src("$ := $", name, f.Get(x, in)))
			}
		}
	}
	from := func(p model.Path) (source jen.Code, rest model.Path) {
		for at := p.Parent(); len(at.Steps) > 0; at = at.Parent() {
			if name := variables[at.String()]; name != "" {
				rest, _ = p.Behind(at)
				return jen.Id(name), rest
			}
		}
		return x, p
	}
	values := slice.Map(c.Inputs, func(input descriptor.Input) jen.Code {
		alternatives := slice.Map(input.Paths, func(text string) jen.Code { return f.asked(from(model.InputPath(m, text))) })
		if len(alternatives) > 1 {
			return f.Src("$: cmp.Or($)", input.Name, jen.List(alternatives...))
		}
		return f.Src("$: $", input.Name, alternatives[0])
	})
	return pre, f.Src("$$", f.qual(c.Package, c.Type+"Parts"), lines(values...))
}
