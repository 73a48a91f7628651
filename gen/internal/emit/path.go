package emit

import (
	"fmt"
	"time"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Get reads the value at a path, with getters: they may be called on nil.
func (e *emitter) Get(m any, p model.Path) *jen.Statement {
	out := e.Src("$", m)
	for _, s := range p.Steps {
		if s.Field == nil {
			out = e.Src("$.$()", out, oneofGetter(s.Oneof))
			continue
		}
		name, _ := s.Field.MethodName("Get")
		out = e.Src("$.$()", out, name)
		if s.Pick != nil {
			out = e.Src("$($)", e.named(s.Pick.Func), out)
		}
	}
	return out
}

func oneofGetter(o *protogen.Oneof) string { return "Get" + o.GoName }

// Presence tests whether there is a value at a path, or whether there is none.
func (e *emitter) Presence(m any, p model.Path, present bool) *jen.Statement {
	x, leaf, has := e.Get(m, p), p.Leaf(), e.has(p)
	switch {
	case has != "":
		return e.Src("$$.$()", negation(!present), e.Get(m, p.Parent()), has)
	case p.ToList():
		return e.nonZero(x, model.Map, present)
	case p.Message() != nil || p.Oneof() != nil:
		return e.nonZero(x, model.Message, present)
	case !leaf.Desc.HasPresence():
		return e.nonZero(x, p.Class(), present)
	}
	parent := e.Get(m, p.Parent())
	switch {
	case member(leaf) != nil:
		return e.Src("$convert.Is[*$]($.$())", negation(!present), e.ident(leaf.GoIdent), parent, oneofGetter(leaf.Oneof))
	case e.ReadsStruct(p):
		return e.Src("$.$ $ nil", parent, leaf.GoName, comparison(!present))
	case present:
		return e.Src("$ != nil && $.$ != nil", parent, parent, leaf.GoName)
	}
	return e.Src("($ == nil || $.$ == nil)", parent, parent, leaf.GoName)
}

// nonZero is the condition that x, a Go value of a class, is not zero, or that it is.
func (e *emitter) nonZero(x any, class model.Class, is bool) *jen.Statement {
	equal := comparison(!is)
	switch class {
	case model.Map, model.Bytes, model.JSON, model.JSONList:
		return e.Src("len($) $ 0", x, map[bool]string{true: ">", false: "=="}[is])
	case model.Any, model.JSONValue, model.Message:
		return e.Src("$ $ nil", x, equal)
	case model.String:
		return e.Src(`$ $ ""`, x, equal)
	case model.Bool:
		return e.Src("$$", negation(!is), x)
	case model.Timestamp:
		return e.Src("$$.IsZero()", negation(is), x)
	case model.NoClass:
		return e.Src("$convert.IsSet($)", negation(!is), x)
	default:
		return e.Src("$ $ 0", x, equal)
	}
}

// valueSet is the condition that x, the value of a field, is not zero, or that it is.
func (e *emitter) valueSet(f *model.Field, x any, set bool) jen.Code {
	class := f.ZeroClass()
	if v, ok := f.Value.(model.StructOf); ok && class == model.NoClass && v.Struct.Comparable {
		return e.Src("$ $ ($)", x, comparison(!set), v.Struct.Name+"{}")
	}
	return e.nonZero(x, class, set)
}

// negation is the operator in front of a condition that must not hold.
func negation(not bool) string { return map[bool]string{true: "!"}[not] }

// comparison is the operator for equality or inequality.
func comparison(equal bool) string { return map[bool]string{true: "==", false: "!="}[equal] }

// ReadsStruct reports whether [emitter.Presence] of a value reads a field of the current Go
// struct, which must then not be nil.
func (e *emitter) ReadsStruct(p model.Path) bool {
	return len(p.Steps) == 1 && p.Message() == nil && p.Oneof() == nil && p.Presence() && e.has(p) == "" && member(p.Leaf()) == nil
}

// has is the method that tells whether a oneof or scalar has a value. It is empty if there is none.
func (e *emitter) has(p model.Path) string {
	switch o, leaf := p.Oneof(), p.Leaf(); {
	case o != nil && e.viewed(o.Parent):
		return "has" + o.GoName
	case o != nil:
		return o.MethodName("Has")
	case p.Message() != nil || !p.Presence():
		return ""
	case e.viewed(leaf.Parent):
		return "has" + leaf.GoName
	default:
		name, _ := leaf.MethodName("Has")
		return name
	}
}

// Scalar returns the Go value of x, the value at the path. It unwraps wrappers and
// Durations.
func (e *emitter) Scalar(x jen.Code, p model.Path) *jen.Statement {
	switch {
	case p.Wrapper():
		return e.Src("$.GetValue()", x)
	case p.Class() == model.Duration:
		return e.Src("$.AsDuration()", x)
	}
	return e.Src("$", x)
}

// test is one test of a condition.
func (e *emitter) test(m any, t model.Test) *jen.Statement {
	x := e.Get(m, t.Path)
	switch {
	case t.Kind != model.Equals:
		return e.Presence(m, t.Path, t.Kind == model.Present)
	case t.Path.Message() != nil && t.Value.Zero():
		return e.Src("$ != nil && $", x, e.Is(e.Scalar(x, t.Path), t.Value, true))
	}
	return e.Is(e.Scalar(x, t.Path), t.Value, true)
}

// Is compares a value with a literal, for equality or inequality.
func (e *emitter) Is(value jen.Code, l model.Literal, equal bool) *jen.Statement {
	if is, ok := l.Value.(bool); ok {
		return e.Src("$$", negation(is != equal), value)
	}
	return e.Src("$ $ $", value, comparison(equal), e.Literal(l))
}

// conds are the tests of a condition.
func (e *emitter) conds(m any, c model.Cond) []jen.Code { return e.CondsAt(m, c, "", model.Path{}) }

// CondsAt are the tests of a condition. If x is given, it is the message at a path, or nil.
func (e *emitter) CondsAt(m any, c model.Cond, x string, at model.Path) []jen.Code {
	out := e.context(c.Context)
	for _, t := range c.Tests {
		from := m
		if rest, ok := t.Path.Behind(at); x != "" && ok && !e.ReadsStruct(rest) {
			from, t.Path = x, rest
		}
		out = append(out, e.test(from, t))
	}
	return out
}

// context returns the tests of a condition that concern the context.
func (e *emitter) context(c model.Context) []jen.Code {
	var out []jen.Code
	if c.Profile != "" {
		out = append(out, e.profile(c.Profile))
	}
	if c.Side != "" {
		out = append(out, e.Src("dc.Side() == $", e.sideOf(c.Side)))
	}
	if c.Xdstp != nil {
		out = append(out, e.Src("$dc.Name.IsXdstp()", negation(!*c.Xdstp)))
	}
	return out
}

// sideOf is the constant for a side.
func (e *emitter) sideOf(name string) *jen.Statement {
	return e.Src(map[string]string{"client": "resource.ClientSide", "server": "resource.ServerSide"}[name])
}

// profile returns the condition that the program reads resources in a profile.
func (e *emitter) profile(name string) *jen.Statement {
	test, _ := profileTests(name)
	return e.Src("dc.Types.Profile() " + test)
}

// otherProfile is the opposite of profile.
func (e *emitter) otherProfile(name string) *jen.Statement {
	_, opposite := profileTests(name)
	return e.Src("dc.Types.Profile() " + opposite)
}

// profileTests returns the test of a profile by its name in descriptors, and the opposite. Programs of all profiles but
// Envoy act on resources.
func profileTests(name string) (test, opposite string) {
	if name == "acting" {
		return "!= resource.Envoy", "== resource.Envoy"
	}
	constant := map[string]string{"grpc": "resource.GRPC", "http": "resource.HTTP", "envoy": "resource.Envoy"}[name]
	return "== " + constant, "!= " + constant
}

// Literal is a value that the descriptor states.
func (e *emitter) Literal(l model.Literal) jen.Code {
	switch v := l.Value.(type) {
	case *protogen.EnumValue:
		return e.ident(v.GoIdent)
	case time.Duration:
		return e.duration(v)
	case int64, uint64, float32, float64:
		return jen.Op(fmt.Sprint(v)) // without a conversion
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
			return e.Src("time." + unit.name)
		}
		if d%unit.size == 0 && d != 0 {
			return e.Src("$ * time."+unit.name, int(d/unit.size))
		}
	}
	return jen.Lit(int(d))
}
