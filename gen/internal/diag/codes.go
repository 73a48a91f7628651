package diag

// Code is the stable name of a kind of error.
type Code string

// The codes, with their meanings.
const (
	Syntax        Code = "XG001" // The file is not a YAML document.
	WrongType     Code = "XG002" // The value of a key has the wrong kind, for example text instead of a list.
	UnknownKey    Code = "XG003" // The mapping has no such key.
	DuplicateKey  Code = "XG004" // A mapping has the key twice.
	MissingKey    Code = "XG005" // A required key is missing, or a key without the key that it needs.
	BadValue      Code = "XG006" // The key does not accept the value.
	BadIdentifier Code = "XG007" // The name is not a valid Go identifier, or not an exported one.
	NameClash     Code = "XG008" // Two declarations of the generated package, or two fields of a struct, would have the same name.
	Conflict      Code = "XG009" // A mapping has two keys that exclude each other.
	NoMessage     Code = "XG010" // The message cannot be found.
	NoGoPackage   Code = "XG011" // The Go package of the message is unknown, wrong or not available.
	UnknownField  Code = "XG012" // The message, or the struct, has no field of this name.
	Unreachable   Code = "XG013" // The path continues after a value that has no fields.
	WrongShape    Code = "XG014" // The path leads to a value that the key does not accept, for example a list instead of one value.
	UnknownStruct Code = "XG015" // There is no struct of this name.
	UnusedStruct  Code = "XG016" // Nothing uses the struct.
	StructMessage Code = "XG017" // A struct is used for two different messages.
	Conversion    Code = "XG018" // The conversion does not accept the value.
	BadDefault    Code = "XG019" // The default is not a value of the field's type, or the field cannot have a default.
	UnknownValue  Code = "XG020" // The enum has no value of this name, or the scalar cannot have the value.
	DeadCase      Code = "XG021" // A case of a oneof can never apply.
	RuleShape     Code = "XG022" // The rule does not fit the value that its path leads to.
	RuleKind      Code = "XG023" // A rule has no kind, or more than one.
	CondScope     Code = "XG024" // The path of a condition goes through a repeated field that is not in the path of the rule.
	BadRef        Code = "XG025" // The path of a ref does not lead to a string, or a field is a ref to two types.
	BadGoType     Code = "XG026" // The Go type of a hook is malformed or uses an unknown package.
	NoWireDecoder Code = "XG027" // `decoder: wire` does not support the field: a required one, a group, or a closed enum of proto2.
	Recursive     Code = "XG028" // A struct contains itself by value.
	NotComparable Code = "XG029" // A struct is declared comparable, but == cannot compare one of its fields.
	BadKeep       Code = "XG030" // keep_if does not fit the struct, or the struct is used outside of a list.
	ZeroDefault   Code = "XG031" // A warning: the field cannot be 0, because the message does not distinguish 0 from absence and the default replaces both.
	Drift         Code = "XG032" // A warning: a rule with the reason PGV or protovalidate is not one of the rules that the annotations of the message have now.
	Unexpressed   Code = "XG033" // A warning: no rule expresses an annotation of the message, and `unexpressed` does not have its path.
)
