package schema

import (
	"encoding/json"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

const (
	mostRepairs = 200 // rounds of [Repair]
	mostSteps   = 50  // to a message with required fields
)

var errEndless = errors.New("a message requires itself")

// Repair sets values in a message until it has its required fields and breaks none of the rules that [Evaluate] knows,
// apart from some checks. It reports whether it found such values. Otherwise, it has repaired some rules.
func Repair(s *model.Scope, message protoreflect.Message, apart ...*model.Check) bool {
	for range mostRepairs {
		complete := addRequired(message)
		broken := slice.Filter(Evaluate(s, message).Violations, func(v Violation) bool {
			return !slices.ContainsFunc(apart, func(c *model.Check) bool { return same(c, v.Check) })
		})
		if len(broken) == 0 {
			return complete
		}
		if !slices.ContainsFunc(broken, Violation.repair) {
			return false
		}
	}
	return false
}

// addRequired adds the missing required fields of proto2, with their defaults, to a message and the messages in it. It
// reports whether it could: a message that requires itself has no end.
func addRequired(message protoreflect.Message) bool {
	return protorange.Range(message, func(p protopath.Values) error {
		m, ok := p.Index(-1).Value.Interface().(protoreflect.Message)
		switch {
		case p.Len() > mostSteps:
			return errEndless
		case !ok:
			return nil
		}
		required := m.Descriptor().RequiredNumbers()
		for i := range required.Len() {
			if f := m.Descriptor().Fields().ByNumber(required.Get(i)); !m.Has(f) {
				m.Set(f, m.NewField(f))
			}
		}
		return nil
	}) == nil
}

// same reports whether two checks are of the same rule about a field. They can be in different scopes.
func same(a, b *model.Check) bool {
	return a == b || a.Path.From == b.Path.From && a.Path.String() == b.Path.String() && emit.RuleText(a) == emit.RuleText(b)
}

// repair sets a value that breaks no rule about the field. Messages in it may break others. Of the fields of a [Choice], it
// sets the first one and removes the others.
func (v Violation) repair() bool {
	path, about := v.Check.Path, []*model.Check{v.Check}
	if r, ok := v.Check.Rule.(Choice); ok {
		for _, p := range slices.Backward(r.Members()) {
			path.Steps = slices.Concat(v.Check.Path.Steps, p.Steps)
			Set(v.message, path.Steps, nil)
		}
	}
	for _, c := range v.scope.Checks {
		_, inner := c.Rule.(Choice) // among the fields of the value, which is for another repair
		of := c.Path.Oneof()        // a rule about the oneof of the field can require the field
		beside := of != nil && path.Last().Field != nil && path.Last().Field.Oneof == of && c.Path.Parent().InViolation() == path.Parent().InViolation()
		if !inner && c != v.Check && (beside || c.Path.InViolation() == path.InViolation()) {
			about = append(about, c)
		}
	}
	for _, x := range Candidates(path.Last(), about) {
		if Set(v.message, path.Steps, x) && len(Evaluate(&model.Scope{Message: v.scope.Message, Checks: about}, v.message).Violations) == 0 {
			return true
		}
	}
	return false
}

// Set sets the value at a path of a message to one in JSON, or removes it if it is nil. The value can be in a message with
// the last field of the path alone, too. Set adds the messages on the way. A list or map on the way has one element. It
// reports whether the field then has the value. It is false if the field cannot have the value, or if the message does not
// distinguish it from an absent one.
func Set(m protoreflect.Message, path []model.Step, x any) bool {
	for _, s := range path[:len(path)-1] {
		m = within(m, s)
	}
	last := path[len(path)-1]
	oneof, value := last.Oneof, x
	if f := last.Field; f != nil {
		oneof, value = f.Oneof, object{f.Desc.JSONName(): x}
		m.Clear(f.Desc)
	}
	if oneof != nil {
		for _, f := range oneof.Fields {
			m.Clear(f.Desc)
		}
	}
	if x == nil {
		return true
	}
	from, ok := x.(protoreflect.Message)
	if !ok {
		from, ok = parse(m.Type(), value)
	}
	if !ok {
		return false
	}
	proto.Merge(m.Interface(), from.Interface())
	return last.Field == nil || m.Has(last.Field.Desc)
}

// parse returns the message of a type that is written in JSON. It reports whether there is one.
func parse(typ protoreflect.MessageType, value any) (protoreflect.Message, bool) {
	m := typ.New()
	text, err := json.Marshal(value)
	if err == nil {
		err = protojson.UnmarshalOptions{AllowPartial: true}.Unmarshal(text, m.Interface())
	}
	return m, err == nil
}

// within is the message at the field of a step: the first one of a list or map.
func within(m protoreflect.Message, s model.Step) protoreflect.Message {
	x := m.Mutable(s.Field.Desc)
	switch {
	case s.Part != nil:
		key := s.Field.Desc.MapKey().Default().MapKey()
		if s.Field.Desc.MapKey().Kind() == protoreflect.StringKind {
			key = protoreflect.ValueOfString("example").MapKey()
		}
		return x.Map().Mutable(append(sortedKeys(x.Map()), key)[0]).Message()
	case s.Repeated():
		if x.List().Len() == 0 {
			x.List().AppendMutable()
		}
		return x.List().Get(0).Message()
	}
	return x.Message()
}
