package emit

import (
	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

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
	times := make(map[string]int) // by path: the number of values in the message
	for _, input := range c.Inputs {
		for _, text := range input.Paths {
			times[model.InputPath(m, text).Parent().String()]++
		}
	}
	declared := make(map[string]string)
	var from func(p model.Path) (source any, rest model.Path)
	from = func(p model.Path) (source any, rest model.Path) {
		parent := p.Parent()
		if len(parent.Steps) == 0 {
			return x, p
		}
		name := parent.String()
		source, rest = from(parent)
		if times[name] < 2 {
			rest.Steps = append(rest.Steps, p.Last())
			return source, rest
		}
		if declared[name] == "" {
			declared[name] = local(f.values+len(declared), "x", "y", "z")
			pre = append(pre, f.Src("$ := $", declared[name], f.Get(source, rest)))
		}
		rest, _ = p.Behind(parent)
		return declared[name], rest
	}
	values := slice.Map(c.Inputs, func(input descriptor.Input) jen.Code {
		alternatives := slice.Map(input.Paths, func(text string) jen.Code {
			source, p := from(model.InputPath(m, text))
			if p.Oneof() != nil {
				return f.Src("$.$()", f.Get(source, p.Parent()), "member"+p.Oneof().GoName)
			}
			return f.Get(source, p)
		})
		if len(alternatives) > 1 {
			return f.Src("$: cmp.Or($)", input.Name, list(alternatives...))
		}
		return f.Src("$: $", input.Name, alternatives[0])
	})
	return pre, f.Src("$$", f.qual(c.Package, c.Type+"Parts"), lines(values...))
}

// arena returns the function of package wire that creates a list of a wire decoder in the arena of
// the response. It also returns the message whose view the list has. It returns "" if the list is
// on the heap. of is the message of the field.
func (e *emitter) arena(d *model.Field, of *protogen.Message) (fn string, from *protogen.Message) {
	if e.views == nil || of == nil || len(d.Paths) == 0 {
		return "", nil
	}
	leaf := d.Paths[0].Leaf()
	inPlace := leaf != nil && e.inPlace(leaf)
	switch v := d.Value.(type) {
	case model.StructOf:
		if v.Any == nil && inPlace {
			return "List", leaf.Message
		}
	case model.Converted:
		if len(v.Conversion.Inputs) > 0 && inPlace {
			return "List", leaf.Message
		}
		if v.Conversion.Func == "HostPort" && e.viewed(of) {
			return "Strings", of
		}
	}
	return "", nil
}
