package model

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// A Path leads from a message to a value in it. The empty path is the message.
type Path struct {
	From  *protogen.Message
	Steps []Step
}

// A Step is one field of a path, or the oneof at its end.
type Step struct {
	Field *protogen.Field // nil: a oneof
	Oneof *protogen.Oneof
	Pick  *Pick // of a repeated message, take the first element that fits
	// Part is the field of the entries of a map, key or value, that the step leads to.
	Part *protogen.Field
}

// Pick chooses one element of a repeated message.
type Pick struct {
	diag.Pos
	Func  string // the name of the function that does
	Tests []Test
}

// Repeated reports whether the step leads to any number of values.
func (s Step) Repeated() bool {
	return s.Part != nil || s.Field != nil && s.Field.Desc.IsList() && s.Pick == nil
}

// Leaf is the field of the values that the step leads to, or nil.
func (s Step) Leaf() *protogen.Field {
	if s.Part != nil {
		return s.Part
	}
	return s.Field
}

// Key reports whether the step leads to the keys of a map.
func (s Step) Key() bool { return s.Part != nil && s.Part.Desc.Number() == 1 }

// Name is the step's name in protobuf.
func (s Step) Name() string {
	switch {
	case s.Field == nil:
		return string(s.Oneof.Desc.Name())
	case s.Part != nil:
		return string(s.Field.Desc.Name() + "." + s.Part.Desc.Name())
	}
	return string(s.Field.Desc.Name())
}

// String is the path as it is written.
func (p Path) String() string {
	return strings.Join(slice.Map(p.Steps, Step.Name), ".")
}

// InViolation is the path as violations have it, without indexes: the entries of a map stand for their
// keys and values.
func (p Path) InViolation() string {
	steps := slices.Clone(p.Steps)
	for i := range steps {
		steps[i].Part = nil
	}
	return Path{Steps: steps}.String()
}

// Last is the last step. That of the empty path leads to nothing.
func (p Path) Last() Step {
	if len(p.Steps) == 0 {
		return Step{}
	}
	return p.Steps[len(p.Steps)-1]
}

// Oneof is the oneof that the path leads to, or nil.
func (p Path) Oneof() *protogen.Oneof { return p.Last().Oneof }

// Leaf is the field that the path leads to, or nil.
func (p Path) Leaf() *protogen.Field { return p.Last().Leaf() }

// Message is the message that the path leads to, or nil.
func (p Path) Message() *protogen.Message {
	switch {
	case len(p.Steps) == 0:
		return p.From
	case p.Leaf() == nil || p.Leaf().Desc.IsMap():
		return nil
	}
	return p.Leaf().Message
}

// Many reports whether the path leads through or to a repeated field.
func (p Path) Many() bool { return slices.ContainsFunc(p.Steps, Step.Repeated) }

// ManyInside reports whether the path leads through a repeated field.
func (p Path) ManyInside() bool { return len(p.Steps) > 0 && p.Parent().Many() }

// ToList reports whether the last step is repeated.
func (p Path) ToList() bool { return p.Last().Repeated() }

// ForEach reports whether the path leads to one value for each element of a repeated field.
func (p Path) ForEach(f *protogen.Field) bool {
	for _, s := range slices.Backward(p.Steps) {
		if s.Repeated() {
			return s.Leaf() == f
		}
	}
	return false
}

// Split cuts the path behind its first repeated step. Without one, all of it is
// rest.
func (p Path) Split() (head, rest Path, ok bool) {
	n := slices.IndexFunc(p.Steps, Step.Repeated) + 1
	if n == 0 {
		return Path{}, p, false
	}
	head = Path{From: p.From, Steps: p.Steps[:n]}
	return head, Path{From: head.Leaf().Message, Steps: p.Steps[n:]}, true
}

// Behind is the rest of the path behind another one, if it starts with that.
func (p Path) Behind(o Path) (rest Path, ok bool) {
	n := len(o.Steps)
	if n > len(p.Steps) || !slices.Equal(p.Steps[:n], o.Steps) {
		return p, false
	}
	return Path{From: o.Message(), Steps: p.Steps[n:]}, true
}

// Parent is the path without its last step.
func (p Path) Parent() Path { return Path{From: p.From, Steps: p.Steps[:len(p.Steps)-1]} }

// Class returns the kind of the value at the path; for a list, of each element.
func (p Path) Class() Class {
	if len(p.Steps) == 0 {
		return Message
	}
	return classOf(p.Leaf())
}

// Wrapper reports whether the value is one of google.protobuf's wrappers.
func (p Path) Wrapper() bool { return isWrapper(p.Leaf()) }

// Presence reports whether the absence of the value can be told from its zero.
func (p Path) Presence() bool {
	return len(p.Steps) == 0 || p.Oneof() != nil || !p.ToList() && p.Leaf().Desc.HasPresence()
}

// Short is a message's name without its package, for messages to people.
func Short(m *protogen.Message) string {
	return strings.TrimPrefix(string(m.Desc.FullName()), string(m.Desc.ParentFile().Package())+".")
}
