package descriptor

import (
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// The tree of a descriptor. The tag of a field is the key of the language that it
// takes its value from.

// Text is a scalar with its position. One that was not written has the zero Pos.
type Text struct {
	diag.Pos
	Value string
	Tag   string // YAML's: "!!str", "!!int", "!!bool", "!!float"
}

// Given reports whether t was written.
func (t Text) Given() bool { return !t.IsZero() }

// Flag is a true or false with its position.
type Flag struct {
	diag.Pos
	Value bool
}

// Descriptor is a whole resource.yaml.
type Descriptor struct {
	diag.Pos
	Version  Text     `key:"version"`
	Resource Resource `key:"resource"`
	Fields   []Field  `key:"fields"`
	Structs  []Struct `key:"structs"`
	Rules    []Rule   `key:"rules"`
	Refs     []Ref    `key:"refs"`
	Hooks    []Hook   `key:"hooks"`
}

// Resource has the message of the resource type and its properties.
type Resource struct {
	diag.Pos
	Message    Text `key:"message"`
	Go         Text `key:"go"`
	Name       Text `key:"name"`
	SotW       Text `key:"sotw"`
	Wildcard   Flag `key:"wildcard"`
	Globs      Flag `key:"globs"`
	Collection Text `key:"collection"`
	Decoder    Text `key:"decoder"`
	Strict     Flag `key:"strict"`
	Doc        Text `key:"doc"`
}

// Field is one field of the update or of a struct.
type Field struct {
	diag.Pos
	Name      Text   `key:"name"`
	Doc       Text   `key:"doc"`
	From      []Text `key:"from"`
	Pick      *Pick  `key:"pick"`
	Then      Text   `key:"then"`
	As        Text   `key:"as"`
	Struct    Text   `key:"struct"`
	Each      Text   `key:"each"`
	Enum      []Text `key:"enum"`
	Otherwise Text   `key:"otherwise"`
	Oneof     []Case `key:"oneof"`
	Any       Text   `key:"any"`
	Go        Text   `key:"go"` // of Any
	Typed     Flag   `key:"typed_struct"`
	AnyOther  Text   `key:"any_other"`
	Resource  Text   `key:"resource"`
	Hook      Text   `key:"hook"`
	Needs     []Text `key:"needs"`
	Encoded   Flag   `key:"encoded"`
	Type      Text   `key:"type"`
	Optional  Flag   `key:"optional"`
	Hidden    Flag   `key:"hidden"`
	Secret    Flag   `key:"secret"`
	Default   Text   `key:"default"`
	When      *Cond  `key:"when"`
}

// Pick chooses the first fitting element of a repeated message.
type Pick struct {
	diag.Pos
	Equals []Pair `key:"equals"`
}

// Case is one alternative of a oneof.
type Case struct {
	diag.Pos
	Case   Text    `key:"case"`
	Doc    Text    `key:"doc"`
	When   *Cond   `key:"when"`
	From   Text    `key:"from"`
	Any    Text    `key:"any"`
	Go     Text    `key:"go"` // of Any
	Typed  Flag    `key:"typed_struct"`
	Struct Text    `key:"struct"`
	Fields []Field `key:"fields"`
	Hook   Text    `key:"hook"`
	Needs  []Text  `key:"needs"`
}

// Struct is a named struct.
type Struct struct {
	diag.Pos
	Name       Text    `key:"."` // the key it stands under
	Doc        Text    `key:"doc"`
	Message    Text    `key:"message"`
	Go         Text    `key:"go"` // of Message
	Comparable Flag    `key:"comparable"`
	Side       Text    `key:"side"`
	KeepIf     *Keep   `key:"keep_if"`
	StopIf     *Stop   `key:"stop_if"`
	Fields     []Field `key:"fields"`
	Rules      []Rule  `key:"rules"`
}

// Keep selects the elements of a repeated message to keep.
type Keep struct {
	diag.Pos
	Positive Text `key:"positive"`
	Present  Text `key:"present"`
	NonEmpty Text `key:"non_empty"`
	Profile  Text `key:"profile"`
}

// Stop says when the rest of a message is not read.
type Stop struct {
	diag.Pos
	NonEmpty Text `key:"non_empty"`
	Profile  Text `key:"profile"`
}

// Rule is one thing that a resource must fulfil.
type Rule struct {
	diag.Pos
	At   Text       `key:"at"`
	From Text       `key:"from"`
	Args []Argument `key:"*"` // of the kind of rule
	When *Cond      `key:"when"`
	Why  Text       `key:"why"`
}

// Argument is a key of a kind of rule with its values. A key that takes one value has one.
type Argument struct {
	Key    string
	Values []Text
}

// String is the rule in YAML, with its keys in a fixed order.
func (r *Rule) String() string {
	parts := []string{"at: " + r.At.Value}
	args := make([]string, 0, len(r.Args))
	for _, a := range r.Args {
		args = append(args, a.Key+": "+texts(a.Values))
	}
	slices.Sort(args)
	parts = append(parts, args...)
	if r.When != nil {
		var conds []string
		for key, list := range map[string][]Text{"present": r.When.Present, "absent": r.When.Absent} {
			if len(list) > 0 {
				conds = append(conds, key+": "+texts(list))
			}
		}
		for _, p := range r.When.Equals {
			conds = append(conds, "equals "+p.Key.Value+": "+p.Value.Value)
		}
		slices.Sort(conds)
		parts = append(parts, "when: {"+strings.Join(conds, ", ")+"}")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// texts are values as a rule shows them.
func texts(values []Text) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Value
	}
	if len(out) == 1 {
		return out[0]
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// List returns the values of a key, none where it was not written.
func (r *Rule) List(key string) []Text {
	for _, a := range r.Args {
		if a.Key == key {
			return a.Values
		}
	}
	return nil
}

// Arg returns the only value of a key.
func (r *Rule) Arg(key string) Text {
	if values := r.List(key); len(values) > 0 {
		return values[0]
	}
	return Text{}
}

// Cond holds when all of its parts hold.
type Cond struct {
	diag.Pos
	Present   []Text `key:"present"`
	Absent    []Text `key:"absent"`
	Equals    []Pair `key:"equals"`
	XdstpName Flag   `key:"xdstp_name"`
	Profile   Text   `key:"profile"`
	Side      Text   `key:"side"`
}

// Pair is a path and the value it must have.
type Pair struct {
	Key   Text
	Value Text
}

// Ref marks a field that names another resource.
type Ref struct {
	diag.Pos
	To   Text `key:"to"`
	From Text `key:"from"`
}

// Hook is a hand-written function.
type Hook struct {
	diag.Pos
	Validate Text   `key:"validate"`
	Check    Text   `key:"check"`
	Finish   Text   `key:"finish"`
	At       Text   `key:"at"`
	Needs    []Text `key:"needs"`
	Profile  Text   `key:"profile"`
}
