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
	name, args := "convert."+c.Func, "($, $, v)"
	m := d.Paths[0].Message()
	if d.IsMap() {
		m = d.Paths[0].Leaf().Message.Fields[1].Message
	}
	switch {
	case f.views == nil:
	case len(c.Inputs) > 0:
		name = "convert.View" + c.Func
		pre, x = f.inputs(c, x, m)
	case c.Takes == "envoy.config.core.v3.Address":
		name, x = "convert.View"+c.Func, f.Src("$.socket()", x)
		f.note(m.Desc, useSocket)
		// The method has this code.
		f.Get(x, model.InputPath(m, "socket_address.address"))
		f.Get(x, model.InputPath(m, "socket_address.port_value"))
		f.Presence(x, model.InputPath(m, "socket_address.named_port"), true)
	default:
		for _, field := range m.Fields {
			f.note(field.Desc, useRead)
		}
	}
	if c.Context {
		args = "(dc, $, $, v)"
	}
	return pre, f.Src(name+args, f.path(at), x)
}

// inputs is the struct of the values that a conversion takes from x, a view. pre declares the messages that several
// values are in.
func (f *Func) inputs(c descriptor.Conversion, x jen.Code, m *protogen.Message) (pre []jen.Code, parts *jen.Statement) {
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
				f.note(p.Oneof().Desc, useRead|useMember)
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
