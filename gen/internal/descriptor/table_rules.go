package descriptor

// Operand is the kind of value that a [ValueKind] accepts.
type Operand int

// The operands.
const (
	Scalars Operand = iota // a bool, number, string or enum
	Texts                  // a string
)

// String describes an operand.
func (o Operand) String() string {
	if o == Texts {
		return "a string"
	}
	return "a bool, number, string or enum"
}

// ValueKind is a kind of rule that compares a value with stated values. To add a kind, add
// a row to [ValueKinds] and its code to package emit.
type ValueKind struct {
	Name  string // its key
	Takes Operand
	Doc   string
}

// ValueKinds is the table of the rules that compare values.
func ValueKinds() []ValueKind {
	return []ValueKind{
		{Name: "in", Takes: Scalars, Doc: "The value must be one of these."},
		{Name: "not_in", Takes: Scalars, Doc: "The value must be none of these."},
		{Name: "prefix", Takes: Texts, Doc: "The text must start with one of these."},
	}
}

func ruleMapping() Mapping {
	m := Mapping{Name: "rule", Doc: "One thing that a resource must fulfil: a path, one kind of rule, and perhaps a condition.", Keys: []Key{
		{Name: "at", Kind: KindPath, Doc: "What the rule is about; by default the message at hand. A path that starts with an upper-case letter is one of Go fields, and is checked after everything was read."},
		{Name: "required", Kind: KindTrue, Group: "kind", Doc: "There must be a value."},
		{Name: "unset", Kind: KindTrue, Group: "kind", Doc: "There must be no value."},
	}}
	for _, v := range ValueKinds() {
		m.Keys = append(m.Keys, Key{Name: v.Name, Kind: KindLiterals, Group: "kind", Doc: v.Doc})
	}
	m.Keys = append(m.Keys, []Key{
		{Name: "min", Kind: KindLiteral, Doc: "The number, duration or sum must be at least this."},
		{Name: "max", Kind: KindLiteral, Doc: "The number, duration or sum must be at most this."},
		{Name: "min_len", Kind: KindSize, Doc: "There must be at least as many elements, or bytes of a text."},
		{Name: "max_len", Kind: KindSize, Doc: "There must be at most as many elements, or bytes of a text."},
		{Name: "unique", Kind: KindUnique, Group: "kind", Doc: "No two elements may be equal, or equal in all of these paths."},
		{Name: "across", Kind: KindChoice, Choices: []string{"resource"}, With: []string{"unique"}, Doc: "`resource`: unique among all values that the path reaches, not only within one repeated field."},
		{Name: "one_of", Kind: KindPaths, Group: "kind", Doc: "Exactly one of these fields of the message must have a value."},
		{Name: "any_type", Kind: KindMessages, Group: "kind", Doc: "The google.protobuf.Any must hold one of these messages."},
		{Name: "sum", Kind: KindPath, Group: "kind", Doc: "The sum of this path over all elements must be within `min` and `max`."},
		{Name: "default", Kind: KindLiteral, With: []string{"sum"}, Doc: "The value of an absent wrapper in the sum; 0 unless it is given."},
		{Name: "group_by", Kind: KindPath, With: []string{"sum"}, Doc: "Elements that are equal in this path have a sum of their own."},
		{Name: "when", Kind: KindMapping, Of: "when", Doc: "The rule counts only when this holds. Paths start where `at` starts; what they share with it is the same element."},
		{Name: "why", Kind: KindText, Doc: "What demands it (\"A47\"); shown with a violation."},
	}...)
	return m
}
