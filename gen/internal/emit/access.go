package emit

import (
	"strconv"
	"time"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// get reads the value at a path, with getters: they may be called on nil.
func (e *emitter) get(m jen.Code, p model.Path) *jen.Statement {
	out := jen.Add(m)
	for _, s := range p.Steps {
		if s.Field == nil {
			out = out.Dot(oneofGetter(s.Oneof)).Call()
			continue
		}
		e.views.read(s.Field)
		name, _ := s.Field.MethodName("Get")
		out = out.Dot(name).Call()
		if s.Pick != nil {
			out = jen.Id(s.Pick.Func).Call(out)
		}
	}
	return out
}

func oneofGetter(o *protogen.Oneof) string { return "Get" + o.GoName }

// presence tests whether there is a value at a path, or whether there is none.
func (e *emitter) presence(m jen.Code, p model.Path, present bool) *jen.Statement {
	op, not := "!=", func(s *jen.Statement) *jen.Statement { return s }
	if !present {
		op, not = "==", func(s *jen.Statement) *jen.Statement { return jen.Op("!").Add(s) }
	}
	if o := p.Oneof(); o != nil {
		if has := e.hasOneof(o); has != "" {
			return not(e.get(m, p.Parent()).Dot(has).Call())
		}
		return e.get(m, p).Op(op).Nil()
	}
	if len(p.Steps) == 0 || p.Message() != nil && !p.ToList() {
		return e.get(m, p).Op(op).Nil()
	}
	leaf := p.Leaf()
	if leaf.Desc.HasPresence() {
		return e.explicit(m, p, op, not)
	}
	switch class := p.Class(); {
	case p.ToList() || class == model.Map || class == model.Bytes:
		return jen.Len(e.get(m, p)).Op(map[string]string{"!=": ">", "==": "=="}[op]).Lit(0)
	case class == model.String:
		return e.get(m, p).Op(op).Lit("")
	case class == model.Bool:
		return not(e.get(m, p))
	}
	return e.get(m, p).Op(op).Lit(0)
}

// readsStruct reports whether [emitter.presence] of a value reads a field of the current Go
// struct, which must then not be nil.
func (e *emitter) readsStruct(p model.Path) bool {
	leaf := p.Leaf()
	if leaf == nil || len(p.Steps) > 1 || p.Message() != nil || !leaf.Desc.HasPresence() {
		return false
	}
	return e.hasField(leaf) == "" && (leaf.Oneof == nil || leaf.Oneof.Desc.IsSynthetic())
}

// explicit tests the presence of a scalar with explicit presence.
func (e *emitter) explicit(m jen.Code, p model.Path, op string, not func(*jen.Statement) *jen.Statement) *jen.Statement {
	leaf := p.Leaf()
	parent := e.get(m, p.Parent())
	has := e.hasField(leaf)
	switch {
	case has != "":
		return not(parent.Dot(has).Call())
	case leaf.Oneof != nil && !leaf.Oneof.Desc.IsSynthetic():
		wrapper := jen.Op("*").Add(e.ident(leaf.GoIdent))
		return not(e.convert("Is").Types(wrapper).Call(parent.Dot(oneofGetter(leaf.Oneof)).Call()))
	case e.readsStruct(p):
		return parent.Dot(leaf.GoName).Op(op).Nil()
	}
	field := e.get(m, p.Parent()).Dot(leaf.GoName)
	if op == "!=" {
		return parent.Op("!=").Nil().Op("&&").Add(field).Op("!=").Nil()
	}
	return jen.Parens(parent.Op("==").Nil().Op("||").Add(field).Op("==").Nil())
}

// scalar returns the Go value of x, the value at the path. It unwraps wrappers and
// Durations.
func (e *emitter) scalar(x jen.Code, p model.Path) *jen.Statement {
	switch {
	case p.Wrapper():
		return jen.Add(x).Dot("GetValue").Call()
	case p.Class() == model.Duration:
		return jen.Add(x).Dot("AsDuration").Call()
	}
	return jen.Add(x)
}

// test is one part of a condition.
func (e *emitter) test(m jen.Code, t model.Test) *jen.Statement {
	switch {
	case t.Kind != model.Equals:
		return e.presence(m, t.Path, t.Kind == model.Present)
	case t.Path.Message() != nil:
		return e.get(m, t.Path).Op("!=").Nil().Op("&&").Add(e.is(e.scalar(e.get(m, t.Path), t.Path), t.Value, true))
	}
	return e.is(e.get(m, t.Path), t.Value, true)
}

// is compares a value with a literal, for equality or inequality.
func (e *emitter) is(value jen.Code, l model.Literal, equal bool) *jen.Statement {
	switch {
	case l.Value == equal: // a bool
		return jen.Add(value)
	case l.Value == !equal:
		return jen.Op("!").Add(value)
	case equal:
		return jen.Add(value).Op("==").Add(e.literal(l))
	}
	return jen.Add(value).Op("!=").Add(e.literal(l))
}

// conds are the parts of a condition.
func (f *fn) conds(m jen.Code, c model.Cond) []jen.Code {
	out := f.context(c.Context)
	for _, t := range c.Tests {
		out = append(out, f.test(m, t))
	}
	return out
}

// condsOf is [fn.conds] for a message x that is already at a path.
func (f *fn) condsOf(m jen.Code, c model.Cond, p model.Path, x jen.Code) []jen.Code {
	out := f.context(c.Context)
	for _, t := range c.Tests {
		if t.Kind == model.Present && t.Path.String() == p.String() {
			out = append(out, jen.Add(x).Op("!=").Nil())
		} else {
			out = append(out, f.test(m, t))
		}
	}
	return out
}

// context returns the parts of a condition that concern the context.
func (f *fn) context(c model.Context) []jen.Code {
	var out []jen.Code
	if c.Profile != "" {
		out = append(out, f.profile(c.Profile))
	}
	if c.Side != "" {
		out = append(out, jen.Add(f.dc()).Dot("Side").Call().Op("==").Add(f.sideOf(c.Side)))
	}
	if c.Xdstp != nil {
		is := jen.Add(f.dc()).Dot("Name").Dot("IsXdstp").Call()
		if !*c.Xdstp {
			is = jen.Op("!").Add(is)
		}
		out = append(out, is)
	}
	return out
}

// sideOf is the constant for a side.
func (e *emitter) sideOf(name string) *jen.Statement {
	return e.resource(map[string]string{"client": "ClientSide", "server": "ServerSide"}[name])
}

// profile returns the condition that the program reads resources in a profile.
func (f *fn) profile(name string) *jen.Statement {
	f.used.dc = true
	return f.inProfile(name)
}

// inProfile is [fn.profile] in a function that has a dc.
func (e *emitter) inProfile(name string) *jen.Statement {
	constant := map[string]string{"grpc": "GRPC", "envoy": "Envoy"}[name]
	return jen.Id("dc").Dot("Types").Dot("Profile").Call().Op("==").Add(e.resource(constant))
}

// and joins conditions.
func and(conds ...jen.Code) *jen.Statement {
	out := jen.Null()
	for i, c := range conds {
		if i > 0 {
			out.Op("&&")
		}
		out.Add(c)
	}
	return out
}

// when puts statements under a condition, if there is one.
func when(conds, body []jen.Code) []jen.Code {
	if len(conds) == 0 || len(body) == 0 {
		return body
	}
	return []jen.Code{jen.If(and(conds...)).Block(body...)}
}

// literal is a value that the descriptor states.
func (e *emitter) literal(l model.Literal) jen.Code {
	switch v := l.Value.(type) {
	case *protogen.EnumValue:
		return e.ident(v.GoIdent)
	case time.Duration:
		return e.duration(v)
	case int64:
		return jen.Op(strconv.FormatInt(v, 10))
	case uint64:
		return jen.Op(strconv.FormatUint(v, 10))
	case float32:
		return jen.Op(strconv.FormatFloat(float64(v), 'g', -1, 32))
	case float64:
		return jen.Op(strconv.FormatFloat(v, 'g', -1, 64))
	default:
		return jen.Lit(v)
	}
}

func (e *emitter) duration(d time.Duration) jen.Code {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}} {
		if d == unit.size {
			return e.qual("time", unit.name)
		}
		if d%unit.size == 0 && d != 0 {
			return jen.Lit(int(d / unit.size)).Op("*").Add(e.qual("time", unit.name))
		}
	}
	return jen.Lit(int(d))
}
