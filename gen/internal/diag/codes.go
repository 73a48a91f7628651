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
		{WrongType, "A key's value is of the wrong kind: text where a list must be, a number where text must be."},
		{UnknownKey, "The mapping has no such key."},
		{DuplicateKey, "The key is there twice in one mapping."},
		{MissingKey, "A key that must be there is not, or one stands without the key that gives it sense."},
		{BadValue, "The value is not among those that the key takes."},
		{BadIdentifier, "The name cannot be a Go identifier of the kind that is needed."},
		{NameClash, "Two declarations of the generated package, or two fields of a struct, would have one name."},
		{Conflict, "Two keys stand in one mapping that exclude each other."},
		{NoMessage, "The message cannot be found."},
		{NoGoPackage, "It is not known which Go package the message is in, or that package cannot be had."},
		{UnknownField, "The message, or the struct, has no field of this name."},
		{Unreachable, "The path goes on below a value that has no fields."},
		{WrongShape, "The path leads to a value that this key cannot read: a list where one value must be, a message where a scalar must be."},
		{UnknownStruct, "There is no struct of this name."},
		{UnusedStruct, "Nothing uses the struct."},
		{StructMessage, "A struct is made of two different messages."},
		{Conversion, "The conversion does not take the value."},
		{BadDefault, "The default is no value of the field's type, or the field can have none."},
		{UnknownValue, "The enum has no value of this name, or the scalar cannot have this one."},
		{DeadCase, "A case of a oneof can never apply."},
		{RuleShape, "The rule does not fit the value that its path leads to."},
		{RuleKind, "A rule has no kind, or more than one."},
		{CondScope, "A path of a condition goes through a repeated field that the rule's own path does not go through."},
		{BadRef, "The path of a ref does not lead to a string, or a field is a ref to two types."},
		{BadGoType, "The Go type of a hook is malformed or uses a package that is not known."},
		{NoWireDecoder, "The decoder that reads encoded bytes cannot read this field: required ones, groups and closed enums of proto2."},
		{Recursive, "A struct contains itself by value."},
		{NotComparable, "A struct is declared comparable and == cannot compare one of its fields."},
		{BadKeep, "keep_if does not fit the struct, or the struct is used where nothing can be dropped."},
	}
}
