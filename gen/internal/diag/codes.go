package diag

// Code is the stable name of a kind of error.
type Code string

// The codes, in the order of [Codes].
const (
	Syntax        Code = "XG001"
	WrongType     Code = "XG002"
	UnknownKey    Code = "XG003"
	DuplicateKey  Code = "XG004"
	MissingKey    Code = "XG005"
	BadValue      Code = "XG006"
	BadIdentifier Code = "XG007"
	NameClash     Code = "XG008"
	Conflict      Code = "XG009"
	NoMessage     Code = "XG010"
	NoGoPackage   Code = "XG011"
	UnknownField  Code = "XG012"
	Unreachable   Code = "XG013"
	WrongShape    Code = "XG014"
	UnknownStruct Code = "XG015"
	UnusedStruct  Code = "XG016"
	StructMessage Code = "XG017"
	Conversion    Code = "XG018"
	BadDefault    Code = "XG019"
	UnknownValue  Code = "XG020"
	DeadCase      Code = "XG021"
	RuleShape     Code = "XG022"
	RuleKind      Code = "XG023"
	CondScope     Code = "XG024"
	BadRef        Code = "XG025"
	BadGoType     Code = "XG026"
	NoWireDecoder Code = "XG027"
	Recursive     Code = "XG028"
	NotComparable Code = "XG029"
	BadKeep       Code = "XG030"
	ZeroDefault   Code = "XG031"
	Drift         Code = "XG032"
	Unexpressed   Code = "XG033"
)

// Info describes the meaning of a code.
type Info struct {
	Code    Code
	Meaning string
}

// Codes returns the table of all codes, in order.
func Codes() []Info {
	return []Info{
		{Syntax, "The file is not a YAML document."},
		{WrongType, "The value of a key has the wrong kind, for example text instead of a list."},
		{UnknownKey, "The mapping has no such key."},
		{DuplicateKey, "A mapping has the key twice."},
		{MissingKey, "A required key is missing, or a key without the key that it needs."},
		{BadValue, "The key does not accept the value."},
		{BadIdentifier, "The name is not a valid Go identifier, or not an exported one."},
		{NameClash, "Two declarations of the generated package, or two fields of a struct, would have the same name."},
		{Conflict, "A mapping has two keys that exclude each other."},
		{NoMessage, "The message cannot be found."},
		{NoGoPackage, "The Go package of the message is unknown, wrong or not available."},
		{UnknownField, "The message, or the struct, has no field of this name."},
		{Unreachable, "The path continues after a value that has no fields."},
		{WrongShape, "The path leads to a value that the key does not accept, for example a list instead of one value."},
		{UnknownStruct, "There is no struct of this name."},
		{UnusedStruct, "Nothing uses the struct."},
		{StructMessage, "A struct is used for two different messages."},
		{Conversion, "The conversion does not accept the value."},
		{BadDefault, "The default is not a value of the field's type, or the field cannot have a default."},
		{UnknownValue, "The enum has no value of this name, or the scalar cannot have the value."},
		{DeadCase, "A case of a oneof can never apply."},
		{RuleShape, "The rule does not fit the value that its path leads to."},
		{RuleKind, "A rule has no kind, or more than one."},
		{CondScope, "The path of a condition goes through a repeated field that is not in the path of the rule."},
		{BadRef, "The path of a ref does not lead to a string, or a field is a ref to two types."},
		{BadGoType, "The Go type of a hook is malformed or uses an unknown package."},
		{NoWireDecoder, "`decoder: wire` does not support the field: a required one, a group, or a closed enum of proto2."},
		{Recursive, "A struct contains itself by value."},
		{NotComparable, "A struct is declared comparable, but == cannot compare one of its fields."},
		{BadKeep, "keep_if does not fit the struct, or the struct is used outside of a list."},
		{ZeroDefault, "A warning: the field cannot be 0, because the message does not distinguish 0 from absence and the default replaces both."},
		{Drift, "A warning: a rule with the reason PGV or protovalidate is not one of the rules that the annotations of the message have now."},
		{Unexpressed, "A warning: no rule expresses an annotation of the message, and `unexpressed` does not have its path."},
	}
}
