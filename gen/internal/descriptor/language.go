package descriptor

import "slices"

// Kind is the kind of a key's value.
type Kind int

// The kinds.
const (
	KindText     Kind = iota // text that is not empty
	KindChoice               // one of Key.Choices
	KindFlag                 // true or false
	KindTrue                 // true
	KindSize                 // a whole number that is not negative
	KindName                 // an exported Go identifier
	KindFunc                 // a Go identifier
	KindMessage              // the full name of a protobuf message
	KindMessages             // one such name, or a list of them
	KindPath                 // a dotted path
	KindPaths                // one path, or a list of them
	KindUnique               // true, or a list of paths
	KindValues               // "all", or a list of names of enum values
	KindLiteral              // a scalar
	KindLiterals             // one scalar, or a list of them
	KindPairs                // a mapping of paths to scalars
	KindMapping              // the mapping Key.Of
	KindList                 // a list of the mapping Key.Of
	KindNamed                // a mapping of exported Go identifiers to the mapping Key.Of
)

// Key is one key of one mapping.
type Key struct {
	Name     string
	Kind     Kind
	Of       string   // the mapping of KindMapping, KindList and KindNamed
	Choices  []string // of KindChoice
	Required bool
	Group    string   // the keys of one group exclude each other
	With     []string // makes sense only beside one of these keys
	Doc      string
}

// Mapping is one kind of YAML mapping.
type Mapping struct {
	Name string
	Doc  string
	Keys []Key
	Need string // one key of this group must be there
}

// Language is the descriptor language. Its first mapping is the whole document.
type Language []Mapping

// NewLanguage returns the language with the keys of the kinds of rules.
func NewLanguage(rules []Key) Language {
	return Language{
		documentMapping(), resourceMapping(), fieldMapping(), pickMapping(), caseMapping(), structMapping(),
		keepMapping(), stopMapping(), ruleMapping(rules), condMapping(), refMapping(), hookMapping(),
	}
}

// mapping returns the mapping with the given name.
func (l Language) mapping(name string) Mapping {
	return l[slices.IndexFunc(l, func(m Mapping) bool { return m.Name == name })]
}

func documentMapping() Mapping {
	return Mapping{Name: "descriptor", Doc: "One resource type.", Keys: []Key{
		{Name: "version", Kind: KindChoice, Choices: []string{"v1"}, Required: true, Doc: "The version of the language."},
		{Name: "resource", Kind: KindMapping, Of: "resource", Required: true, Doc: "What message is described."},
		{Name: "fields", Kind: KindList, Of: "field", Required: true, Doc: "The fields of the update, in the order in which they are read."},
		{Name: "structs", Kind: KindNamed, Of: "struct", Doc: "The structs that fields are made of, by their Go names."},
		{Name: "rules", Kind: KindList, Of: "rule", Doc: "What a resource must fulfil. Paths start at its message."},
		{Name: "refs", Kind: KindList, Of: "ref", Doc: "Which fields name other resources."},
		{Name: "hooks", Kind: KindList, Of: "hook", Doc: "Hand-written functions that look at the whole resource."},
	}}
}

func resourceMapping() Mapping {
	return Mapping{Name: "resource", Doc: "What message is described.", Keys: []Key{
		{Name: "message", Kind: KindMessage, Required: true, Doc: "The message's full name."},
		{Name: "go", Kind: KindText, Doc: "The import path of the message's Go package. Known without it for envoy.*, xds.*, udpa.* and google.protobuf.*."},
		{Name: "name", Kind: KindText, Required: true, Doc: "The string field that carries the resource's name, or `wrapper` where the message has none."},
		{Name: "sotw", Kind: KindChoice, Choices: []string{"complete", "partial"}, Required: true, Doc: "`complete`: a state-of-the-world response names every resource, so that absence deletes (Listener and Cluster). `partial`: absence says nothing."},
		{Name: "wildcard", Kind: KindTrue, Doc: "Everything may be watched that the control plane has for the client, under the name `*`."},
		{Name: "globs", Kind: KindTrue, Doc: "The xdstp glob collections of the type may be watched (TP1)."},
		{Name: "collection", Kind: KindMessage, Doc: "The full name of the message of the type's list collections, which may be watched (TP1)."},
		{Name: "decoder", Kind: KindChoice, Choices: []string{"message", "wire"}, Doc: "How bytes are read. `message`, the default, unmarshals the message. `wire` reads the bytes themselves, and only what fields, rules, refs and hooks need; what nothing needs is skipped, even where it is malformed."},
		{Name: "strict", Kind: KindTrue, With: []string{"decoder"}, Doc: "`decoder: wire` looks at every byte: a message that is malformed anywhere is rejected."},
		{Name: "doc", Kind: KindText, Doc: "The doc comment of Update."},
	}}
}

func fieldMapping() Mapping {
	return Mapping{Name: "field", Doc: "One field of the update or of a struct. Its type is inferred unless a key says what becomes of the value.", Keys: []Key{
		{Name: "name", Kind: KindName, Required: true, Doc: "The Go name."},
		{Name: "doc", Kind: KindText, Doc: "The doc comment."},
		{Name: "from", Kind: KindPaths, Doc: "Where the value stands: a path from the message at hand, or several whose values are concatenated. A path through repeated fields gives all of their values."},
		{Name: "pick", Kind: KindMapping, Of: "pick", With: []string{"from"}, Doc: "`from` is a repeated message, and the first element that fits is taken."},
		{Name: "then", Kind: KindPath, With: []string{"pick"}, Doc: "Where the value stands in the picked element."},
		{Name: "as", Kind: KindChoice, Choices: conversionNames(), Group: "value", With: []string{"from"}, Doc: "A conversion of the table below."},
		{Name: "struct", Kind: KindName, Group: "value", Doc: "The message becomes this struct; the zero value when it is absent."},
		{Name: "each", Kind: KindName, Group: "value", With: []string{"from"}, Doc: "The repeated message becomes a slice of this struct, a map of messages a map."},
		{Name: "enum", Kind: KindValues, Group: "value", With: []string{"from"}, Doc: "The enum becomes Go constants: `all` values, or those listed. Another number is a violation."},
		{Name: "otherwise", Kind: KindText, With: []string{"enum"}, Doc: "The value that any number outside of `enum` counts as, so that it is no violation."},
		{Name: "oneof", Kind: KindList, Of: "case", Group: "value", Doc: "A closed Go interface: the first case that applies, nil when none does."},
		{Name: "any", Kind: KindMessage, With: []string{"struct", "each"}, Doc: "The value is a google.protobuf.Any that must hold this message."},
		{Name: "typed_struct", Kind: KindTrue, With: []string{"any"}, Doc: typedStructDoc},
		{Name: "any_other", Kind: KindChoice, Choices: profiles(), With: []string{"any"}, Doc: "In this profile, the Any may hold any other message, which counts as no value. In the other profile, it is a violation."},
		{Name: "resource", Kind: KindMessage, Group: "value", With: []string{"from"}, Doc: "The message is a resource of this registered type, inlined; the Go type is resource.Update."},
		{Name: "hook", Kind: KindFunc, Group: "value", Doc: "A hand-written function makes the value: func(*resource.DecodeContext, <one parameter per need>) (<type>, error)."},
		{Name: "needs", Kind: KindPaths, With: []string{"hook"}, Doc: "What the hook is given; by default the value of `from`. A name that starts with an upper-case letter is a field of the same struct that stands before this one, and the hook is given its value. For a oneof of protobuf, the hook is given an int32, the number of the member that is set; 0: none is."},
		{Name: "encoded", Kind: KindTrue, With: []string{"hook"}, Doc: "The hook is given messages as they are encoded, each as a []byte: what encodes the message, nil where there is none. It need not unmarshal what it does not look at. Lists and maps are given as ever."},
		{Name: "type", Kind: KindText, With: []string{"hook", "enum", "oneof"}, Doc: "The Go type that a hook makes, or the name of the type of an enum or oneof (by default the field's)."},
		{Name: "optional", Kind: KindTrue, Doc: "A pointer, nil when the value is absent."},
		{Name: "hidden", Kind: KindTrue, Doc: "The Go field is unexported: its name starts with a lower-case letter, and hand-written methods of the package read it. The descriptor names it as ever. `String` and `MarshalJSON` show scalars and lists of scalars under that name, and leave other hidden values out."},
		{Name: "secret", Kind: KindTrue, Doc: "`String` and `MarshalJSON` say that the field is set, and not its value."},
		{Name: "default", Kind: KindLiteral, With: []string{"from"}, Doc: "The value when it is absent or zero; `$name` is the resource's canonical name."},
		{Name: "when", Kind: KindMapping, Of: "when", Doc: "The field is read only when this holds. Otherwise it is zero, and the rules of its structs are not checked."},
	}}
}

const typedStructDoc = "The Any may also hold an xds.type.v3.TypedStruct or a udpa.type.v1.TypedStruct that stands for the message: its value is the message in JSON."

func pickMapping() Mapping {
	return Mapping{Name: "pick", Doc: "Chooses the first fitting element of a repeated message.", Keys: []Key{
		{Name: "equals", Kind: KindPairs, Required: true, Doc: "Paths of the element, and the values they must have."},
	}}
}

func caseMapping() Mapping {
	return Mapping{Name: "case", Doc: "One alternative of a oneof. Cases are tried in their order.", Need: "content", Keys: []Key{
		{Name: "case", Kind: KindName, Required: true, Doc: "The Go type of the case; where `struct` is given, its name."},
		{Name: "doc", Kind: KindText, Doc: "The doc comment of the type that `fields` makes."},
		{Name: "when", Kind: KindMapping, Of: "when", Doc: "When the case applies; by default when the value of `from` is present."},
		{Name: "from", Kind: KindPath, Doc: "The message that the case is made of; by default the message at hand."},
		{Name: "any", Kind: KindMessage, With: []string{"from"}, Doc: "`from` is a google.protobuf.Any, and the case applies when it holds this message."},
		{Name: "typed_struct", Kind: KindTrue, With: []string{"any"}, Doc: typedStructDoc},
		{Name: "struct", Kind: KindName, Group: "content", Doc: "A named struct."},
		{Name: "fields", Kind: KindList, Of: "field", Group: "content", Doc: "The fields of a struct of this case alone."},
		{Name: "hook", Kind: KindFunc, Group: "content", Doc: "A hand-written function makes the value, and its type is hand-written too."},
		{Name: "needs", Kind: KindPaths, With: []string{"hook"}, Doc: "What the hook is given; by default the value of `from`."},
	}}
}

func structMapping() Mapping {
	return Mapping{Name: "struct", Doc: "A named struct, made of one message.", Keys: []Key{
		{Name: "doc", Kind: KindText, Doc: "The doc comment."},
		{Name: "message", Kind: KindMessage, Doc: "The message's full name; inferred from where the struct is used."},
		{Name: "comparable", Kind: KindTrue, Doc: "States that == compares it, so that it may be a key of a map."},
		{Name: "side", Kind: KindChoice, Choices: []string{"client", "server"}, Doc: "Whose HTTP filters are in the struct (A39): what resource.DecodeContext.Side says to its hooks, and to those of the structs in it. Without it, the side is that of the struct around it, and of an update the client's."},
		{Name: "keep_if", Kind: KindMapping, Of: "keep_if", Doc: "Which elements are kept where `each` uses the struct. It is looked at first: nothing else of a dropped element is read or checked."},
		{Name: "stop_if", Kind: KindMapping, Of: "stop_if", Doc: "When the rest of the message is not read. The element stays."},
		{Name: "fields", Kind: KindList, Of: "field", Required: true, Doc: "The fields, in the order in which they are read."},
		{Name: "rules", Kind: KindList, Of: "rule", Doc: "What the message must fulfil wherever the struct is made of one. Paths start at that message."},
	}}
}

// profiles are the profiles that a program can choose.
func profiles() []string { return []string{"grpc", "envoy"} }

func keepMapping() Mapping {
	return Mapping{Name: "keep_if", Doc: "Which elements of a repeated message are kept.", Need: "keep", Keys: []Key{
		{Name: "positive", Kind: KindName, Group: "keep", Doc: "Those whose Go field is above zero."},
		{Name: "present", Kind: KindPath, Group: "keep", Doc: "Those that have a value at this path of the message."},
		{Name: "non_empty", Kind: KindName, Group: "keep", Doc: "Those whose Go field has an element or a character."},
		{Name: "profile", Kind: KindChoice, Choices: profiles(), Doc: "Others are dropped in this profile only; in the other one, all are kept."},
	}}
}

func stopMapping() Mapping {
	return Mapping{Name: "stop_if", Doc: "When the rest of a struct is not read: fields behind the one that is named are zero, and the rules of the struct are not checked.", Keys: []Key{
		{Name: "non_empty", Kind: KindName, Required: true, Doc: "The Go field that has an element or a character then."},
		{Name: "profile", Kind: KindChoice, Choices: profiles(), Doc: "Only in this profile; in the other one, all is read."},
	}}
}

func condMapping() Mapping {
	return Mapping{Name: "when", Doc: "A condition: all of its parts must hold.", Keys: []Key{
		{Name: "present", Kind: KindPaths, Doc: "There is a value at each of these paths."},
		{Name: "absent", Kind: KindPaths, Doc: "There is no value at any of these paths."},
		{Name: "equals", Kind: KindPairs, Doc: "Paths and the values they must have."},
		{Name: "xdstp_name", Kind: KindFlag, Doc: "Whether the resource's name is an xdstp name."},
		{Name: "profile", Kind: KindChoice, Choices: profiles(), Doc: "How strictly the program reads resources: as gRPC must, or as other proxies may."},
		{Name: "side", Kind: KindChoice, Choices: []string{"client", "server"}, Doc: "Who goes by the message; see `side` of a struct."},
	}}
}

func refMapping() Mapping {
	return Mapping{Name: "ref", Doc: "A field that names another resource.", Keys: []Key{
		{Name: "to", Kind: KindMessage, Required: true, Doc: "The full name of the other resource's message."},
		{Name: "from", Kind: KindPath, Required: true, Doc: "A path of Go fields from the update, through slices, pointers and cases of oneofs, to a string or strings."},
	}}
}

func hookMapping() Mapping {
	return Mapping{Name: "hook", Doc: "A hand-written function that looks at the whole resource.", Need: "hook", Keys: []Key{
		{Name: "validate", Kind: KindFunc, Group: "hook", Doc: "func(*resource.DecodeContext, resource.Path, *<message>, *resource.Violations), called after the rules of the same message."},
		{Name: "check", Kind: KindFunc, Group: "hook", Doc: "func(*resource.DecodeContext, *Update, *resource.Violations), called when everything has been read, whatever was wrong; to it, what could not be read is zero."},
		{Name: "finish", Kind: KindFunc, Group: "hook", Doc: "func(*resource.DecodeContext, *Update, *resource.Violations), called last, and only when nothing was wrong before."},
		{Name: "at", Kind: KindPath, With: []string{"validate"}, Doc: "The message to look at, each of them when the path is repeated; by default the resource's."},
		{Name: "needs", Kind: KindPaths, With: []string{"validate"}, Doc: "Paths in that message whose values are given to the hook in its place."},
		{Name: "profile", Kind: KindChoice, Choices: profiles(), With: []string{"validate"}, Doc: "Only programs that read resources in this profile call it. For others, `decoder: wire` does not unmarshal the resource's message for it."},
	}}
}

func ruleMapping(kinds []Key) Mapping {
	keys := []Key{{Name: "at", Kind: KindPath, Doc: "What the rule is about; by default the message at hand. A path that starts with an upper-case letter is one of Go fields, and is checked after everything was read."}}
	keys = append(append(keys, kinds...), []Key{
		{Name: "when", Kind: KindMapping, Of: "when", Doc: "The rule counts only when this holds. Paths start where `at` starts; what they share with it is the same element."},
		{Name: "why", Kind: KindText, Doc: "What demands it (\"A47\"); shown with a violation."},
	}...)
	return Mapping{Name: "rule", Doc: "One thing that a resource must fulfil: a path, one kind of rule, and perhaps a condition.", Keys: keys}
}
