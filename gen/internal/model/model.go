package model

import (
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// Package is the model of one descriptor.
type Package struct {
	Name      string // of the Go package
	Source    string // the descriptor's file name
	Sum       string // identifies the descriptor's content
	Message   *protogen.Message
	NameField *protogen.Field // nil: the wrapper names the resource
	Complete  bool            // a state-of-the-world response names every resource
	Wildcard  bool            // "*" may be watched
	Globs     bool            // glob collections may be watched
	Collected string          // full name of the message of list collections; empty: there are none
	Wire      bool            // the decoder reads encoded bytes
	Strict    bool            // and looks at all of them
	Update    *Struct
	Structs   []*Struct // all others, in the order in which they are first used
	Enums     []*Enum
	Oneofs    []*Oneof
	Picks     []Step   // repeated messages of which one element is taken
	GoChecks  []*Check // the rules about the fields of the update
	Checkers  []string // hooks that check the update even if it has violations
	Finish    []string // hooks
	Inlined   []string // full names of the messages that are inlined resources
	Uses      Uses
	Unruled   []string // constraints of annotations that no derived rule expresses, each on a line
	Late      []string // profiles in which alone a wire decoder unmarshals the message, for hooks

	// GoName is the name of a Go package of messages, by its import path.
	GoName func(importPath string) (string, bool)
}

// All returns the update and all other structs.
func (p *Package) All() []*Struct { return append([]*Struct{p.Update}, p.Structs...) }

// Struct is a Go struct that is made of one message.
type Struct struct {
	diag.Pos
	Name       string
	Doc        string
	Message    *protogen.Message
	Fields     []*Field
	Keep       *Keep
	Stop       *Stop
	Rules      *Scope // nil: none
	Comparable bool   // == compares it
	Grouped    bool   // an optional field groups fields of the message itself in it
	Side       string // the side whose HTTP filters it has; empty means the side of the struct that contains it
	Cases      []*Oneof

	declaredComparable diag.Pos
	faulty             []string // names of fields that could not be built
}

// Keep says which elements of a repeated message are kept. One of its parts is
// there.
type Keep struct {
	Present  *Test
	Positive *Field
	NonEmpty *Field
	Profile  string // where others are dropped; empty: everywhere
}

// Stop is the condition for not reading the rest of a message: the fields behind NonEmpty,
// and those that the struct's rules check.
type Stop struct {
	NonEmpty *Field
	Profile  string // where it counts; empty: everywhere
}

// Field is one field of a struct.
type Field struct {
	diag.Pos
	Name     string
	Doc      string
	Paths    []Path // where the value stands; several are concatenated
	Value    Value
	List     bool     // a slice of values
	Key      Class    // a map of values: the class of its keys; else NoClass
	Optional bool     // a pointer
	Default  *Literal // nil: none
	SelfName bool     // the default is the resource's name
	Ref      string   // full name of the message that the field names resources of
	When     Cond     // when it is read; it is zero otherwise
	Hidden   bool     // the Go field is unexported
	Secret   bool     // the value is not for people
}

// GoName is the name of the Go field.
func (f *Field) GoName() string {
	if !f.Hidden {
		return f.Name
	}
	return unexported(f.Name)
}

// PathName is the field in the paths of violations: its path in the message, or the Go name
// if it has no single path. It is empty for a struct or oneof of the message itself.
func (f *Field) PathName() string {
	switch f.Value.(type) {
	case StructOf, OneofOf:
		if len(f.Paths) == 0 {
			return ""
		}
	}
	if len(f.Paths) != 1 || f.Paths[0].ManyInside() {
		return f.Name
	}
	return f.Paths[0].String()
}

// unexported lowers the first word of a name: LBPolicy is lbPolicy.
func unexported(name string) string {
	runes := []rune(name)
	n := 1
	for n < len(runes) && unicode.IsUpper(runes[n]) && (n+1 == len(runes) || unicode.IsUpper(runes[n+1])) {
		n++
	}
	return strings.ToLower(string(runes[:n])) + string(runes[n:])
}

// IsMap reports whether the field is a map of values.
func (f *Field) IsMap() bool { return f.Key != NoClass }

// structKey is the key of a descriptor that names the struct of the field's values.
func (f *Field) structKey() string {
	if f.List || f.IsMap() {
		return "each"
	}
	return "struct"
}

// element is where one value stands: of a map, in its entry.
func (f *Field) element() Path {
	p := f.Paths[0]
	if !f.IsMap() {
		return p
	}
	entry := p.Leaf().Message
	return Path{From: entry, Steps: []Step{{Field: entry.Fields[1]}}}
}

// Enum is a Go type with constants.
type Enum struct {
	diag.Pos
	Name      string
	Enum      *protogen.Enum
	Values    []EnumValue
	Otherwise *EnumValue // nil: another number is a violation
}

// Constant is the name of the constant for a value; empty: there is none.
func (e *Enum) Constant(l Literal) string {
	for _, v := range e.Values {
		if l.same(Literal{Value: v.Value}) {
			return v.Name
		}
	}
	return ""
}

// EnumValue is one constant.
type EnumValue struct {
	Name  string // of the constant
	Value *protogen.EnumValue
}

// Oneof is a closed Go interface.
type Oneof struct {
	diag.Pos
	Name    string
	Doc     string
	Message *protogen.Message // the message at hand
	Cases   []*Case
}

// Case is one alternative of a oneof.
type Case struct {
	diag.Pos
	Type   string  // the Go type
	Struct *Struct // nil: a hook makes it
	Path   *Path   // the message it is made of; nil: the message at hand
	Any    *protogen.Message
	Typed  bool // a TypedStruct may stand for the message in the Any
	When   Cond // when there is none, the case always applies
	Hook   *Hook
}

// Hook is a hand-written function that makes a value or checks a message.
type Hook struct {
	Func    string
	Needs   []Need // empty: the message at hand
	Encoded bool   // messages are given as bytes
	Type    GoType // of the value
}

// Need is one of the arguments of a hook. It is the value at a path of the message, or that of a
// field of the same struct, which was read before.
type Need struct {
	Path  Path
	Field *Field // nil: the value at Path
}

// Message reports whether a need is one message and not a value decoded from one.
func (n Need) Message() bool {
	return n.Field == nil && len(n.Path.Steps) > 0 && n.Path.Message() != nil && !n.Path.ToList() && !n.Path.Leaf().Desc.IsMap()
}

// String is the need as it is written.
func (n Need) String() string {
	if n.Field != nil {
		return n.Field.Name
	}
	return n.Path.String()
}

// Oneofs are the oneofs of the struct's fields.
func (s *Struct) Oneofs() []*Oneof {
	var out []*Oneof
	for _, f := range s.Fields {
		if v, ok := f.Value.(OneofOf); ok {
			out = append(out, v.Oneof)
		}
	}
	return out
}

// FirstUse is the position of the first field that needs a type of a proto file. It is zero if only rules
// or hooks do.
func (p *Package) FirstUse(proto string) diag.Pos {
	defines := func(d protoreflect.Descriptor) bool { return d.ParentFile().Path() == proto }
	inFile := func(s Step) bool {
		f := s.Field
		return f != nil && (f.Message != nil && defines(f.Message.Desc) || f.Enum != nil && defines(f.Enum.Desc))
	}
	for _, s := range p.All() {
		for _, f := range s.Fields {
			if slices.ContainsFunc(f.Paths, func(p Path) bool { return slices.ContainsFunc(p.Steps, inFile) }) {
				return f.Pos
			}
		}
	}
	return diag.Pos{}
}
