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
		{Name: "resource", Kind: KindMapping, Of: "resource", Required: true, Doc: "The message of the type, and properties of the type."},
		{Name: "fields", Kind: KindList, Of: "field", Required: true, Doc: "The fields of the update, in the order in which they are read."},
		{Name: "structs", Kind: KindNamed, Of: "struct", Doc: "The structs of fields, by their Go names."},
		{Name: "rules", Kind: KindList, Of: "rule", Doc: "The rules that a resource must fulfil. Their paths start at its message."},
		{Name: "refs", Kind: KindList, Of: "ref", Doc: "The fields that name other resources."},
		{Name: "hooks", Kind: KindList, Of: "hook", Doc: "Hand-written functions that check or change the whole resource."},
	}}
}

func resourceMapping() Mapping {
	return Mapping{Name: "resource", Doc: "The message of the type, and properties of the type.", Keys: []Key{
		{Name: "message", Kind: KindMessage, Required: true, Doc: "The message's full name."},
		{Name: "go", Kind: KindText, Doc: "The import path of the message's Go package. It follows from the name for envoy.*, xds.*, udpa.* and google.protobuf.*."},
		{Name: "name", Kind: KindText, Required: true, Doc: "The string field with the resource's name, or `wrapper` if the message has no such field."},
		{Name: "sotw", Kind: KindChoice, Choices: []string{"complete", "partial"}, Required: true, Doc: "`complete`: a state-of-the-world response has every resource, so absence deletes (Listener and Cluster). `partial`: absence has no meaning."},
		{Name: "wildcard", Kind: KindTrue, Doc: "Programs can watch all resources of the type, under the name `*`."},
		{Name: "globs", Kind: KindTrue, Doc: "Programs can watch xdstp glob collections of the type (TP1)."},
		{Name: "collection", Kind: KindMessage, Doc: "The full name of the message of the type's list collections. Programs can watch them (TP1)."},
		{Name: "decoder", Kind: KindChoice, Choices: []string{"message", "wire"}, Doc: "How the decoder reads bytes. `message`, the default, unmarshals the message. `wire` reads only the fields that fields, rules, refs and hooks need. It skips other bytes, even malformed ones."},
		{Name: "strict", Kind: KindTrue, With: []string{"decoder"}, Doc: "`decoder: wire` checks every byte and rejects a message that is malformed anywhere."},
		{Name: "doc", Kind: KindText, Doc: "The doc comment of Update."},
	}}
}

func fieldMapping() Mapping {
	return Mapping{Name: "field", Doc: "One field of the update or of a struct. The Go type follows from the message unless a key selects another one.", Keys: []Key{
		{Name: "name", Kind: KindName, Required: true, Doc: "The Go name."},
		{Name: "doc", Kind: KindText, Doc: "The doc comment."},
		{Name: "from", Kind: KindPaths, Doc: "The path of the value from the current message, or several paths whose values are concatenated. A path through repeated fields leads to all of their values."},
		{Name: "pick", Kind: KindMapping, Of: "pick", With: []string{"from"}, Doc: "`from` is a repeated message; the field takes the first element that fits."},
		{Name: "then", Kind: KindPath, With: []string{"pick"}, Doc: "The path of the value in the picked element."},
		{Name: "as", Kind: KindChoice, Choices: conversionNames(), Group: "value", With: []string{"from"}, Doc: "A conversion of the table below."},
		{Name: "struct", Kind: KindName, Group: "value", Doc: "Decode the message into this struct. The struct is zero if the message is absent."},
		{Name: "each", Kind: KindName, Group: "value", With: []string{"from"}, Doc: "Decode a repeated message into a slice of this struct, or a map of messages into a map."},
		{Name: "enum", Kind: KindValues, Group: "value", With: []string{"from"}, Doc: "Declare Go constants for `all` values of the enum, or for those listed. Another number is a violation."},
		{Name: "otherwise", Kind: KindText, With: []string{"enum"}, Doc: "The value for numbers outside of `enum`, which are then no violation."},
		{Name: "oneof", Kind: KindList, Of: "case", Group: "value", Doc: "A closed Go interface. Its value is the first case that applies, or nil."},
		{Name: "any", Kind: KindMessage, With: []string{"struct", "each"}, Doc: "The value is a google.protobuf.Any that must hold this message."},
		{Name: "go", Kind: KindText, With: []string{"any"}, Doc: goDoc("any")},
		{Name: "typed_struct", Kind: KindTrue, With: []string{"any"}, Doc: typedStructDoc},
		{Name: "any_other", Kind: KindChoice, Choices: profiles(), With: []string{"any"}, Doc: "In this profile, the Any may hold any other message, which counts as no value. In the other profile, it is a violation."},
		{Name: "resource", Kind: KindMessage, Group: "value", With: []string{"from"}, Doc: "The message is an inlined resource of this registered type. The Go type is resource.Update."},
		{Name: "hook", Kind: KindFunc, Group: "value", Doc: "A hand-written function returns the value: func(*resource.DecodeContext, <one parameter per need>) (<type>, error)."},
		{Name: "needs", Kind: KindPaths, With: []string{"hook"}, Doc: "The arguments of the hook; by default the value of `from`. A name with an upper-case first letter is an earlier field of the same struct. The argument for a oneof of protobuf is an int32, the number of the member that is set, or 0."},
		{Name: "encoded", Kind: KindTrue, With: []string{"hook"}, Doc: "The hook gets each message as encoded bytes, nil if it is absent, so that it can unmarshal only the messages that it needs. Lists and maps are not affected."},
		{Name: "type", Kind: KindText, With: []string{"hook", "enum", "oneof"}, Doc: "The Go type that a hook returns, or the name of the type of an enum or oneof. The default is the field's name."},
		{Name: "optional", Kind: KindTrue, Doc: "The field is a pointer, nil if the value is absent. With `struct` and without `from`, it is nil if all fields of the struct are zero: rare fields take the memory of one pointer."},
		{Name: "hidden", Kind: KindTrue, Doc: "The Go field is unexported, for hand-written methods of the package. Its Go name has a lower-case first letter; the descriptor uses the name above. `String` and `MarshalJSON` show scalars and lists of scalars under that name, and omit other hidden values."},
		{Name: "secret", Kind: KindTrue, Doc: "`String` and `MarshalJSON` show that the field is set, but not its value."},
		{Name: "default", Kind: KindLiteral, With: []string{"from"}, Doc: "The value if it is absent, or zero if the message does not distinguish the two. `$name` is the resource's canonical name."},
		{Name: "when", Kind: KindMapping, Of: "when", Doc: "The decoder reads the field only if this holds. Otherwise it is zero, and the rules of its structs are not checked."},
	}}
}

// goDoc documents the key `go` beside another key that names a message.
func goDoc(key string) string {
	return "The import path of the Go package of the message in `" + key + "`, if it does not follow from its name."
}

const typedStructDoc = "The Any may also hold an xds.type.v3.TypedStruct or a udpa.type.v1.TypedStruct whose value is the message in JSON."

func pickMapping() Mapping {
	return Mapping{Name: "pick", Doc: "Chooses the first fitting element of a repeated message.", Keys: []Key{
		{Name: "equals", Kind: KindPairs, Required: true, Doc: "Paths of the element, and the values they must have."},
	}}
}

func caseMapping() Mapping {
	return Mapping{Name: "case", Doc: "One alternative of a oneof. Cases are tried in their order.", Need: "content", Keys: []Key{
		{Name: "case", Kind: KindName, Required: true, Doc: "The Go type of the case. With `struct`, it is the name of the struct."},
		{Name: "doc", Kind: KindText, Doc: "The doc comment of the type of `fields`."},
		{Name: "when", Kind: KindMapping, Of: "when", Doc: "The condition of the case; by default that the value of `from` is present."},
		{Name: "from", Kind: KindPath, Doc: "The message of the case; by default the current message."},
		{Name: "any", Kind: KindMessage, With: []string{"from"}, Doc: "`from` is a google.protobuf.Any, and the case applies when it holds this message."},
		{Name: "go", Kind: KindText, With: []string{"any"}, Doc: goDoc("any")},
		{Name: "typed_struct", Kind: KindTrue, With: []string{"any"}, Doc: typedStructDoc},
		{Name: "struct", Kind: KindName, Group: "content", Doc: "A named struct."},
		{Name: "fields", Kind: KindList, Of: "field", Group: "content", Doc: "The fields of a struct of this case alone."},
		{Name: "hook", Kind: KindFunc, Group: "content", Doc: "A hand-written function returns the value. Its type is hand-written too."},
		{Name: "needs", Kind: KindPaths, With: []string{"hook"}, Doc: "The arguments of the hook; by default the value of `from`."},
	}}
}

func structMapping() Mapping {
	return Mapping{Name: "struct", Doc: "A named struct, decoded from one message.", Keys: []Key{
		{Name: "doc", Kind: KindText, Doc: "The doc comment."},
		{Name: "message", Kind: KindMessage, Doc: "The message's full name. The default follows from the fields with this struct."},
		{Name: "go", Kind: KindText, With: []string{"message"}, Doc: goDoc("message")},
		{Name: "comparable", Kind: KindTrue, Doc: "Requires that == compares it, so that it can be a key of a map."},
		{Name: "side", Kind: KindChoice, Choices: []string{"client", "server"}, Doc: "Who uses the HTTP filters in the struct (A39). Its hooks, and those of the structs in it, get the side from resource.DecodeContext.Side. The default is the side of the enclosing struct, and the client for an update."},
		{Name: "keep_if", Kind: KindMapping, Of: "keep_if", Doc: "The condition for keeping an element in a list of this struct. It is tested first; the rest of a dropped element is neither read nor checked."},
		{Name: "stop_if", Kind: KindMapping, Of: "stop_if", Doc: "The condition for not reading the rest of the message. The element is kept."},
		{Name: "fields", Kind: KindList, Of: "field", Required: true, Doc: "The fields, in the order in which they are read."},
		{Name: "rules", Kind: KindList, Of: "rule", Doc: "The rules for each message that is decoded into the struct. Their paths start at that message."},
	}}
}

// profiles are the profiles that a program can choose.
func profiles() []string { return []string{"grpc", "envoy"} }

func keepMapping() Mapping {
	return Mapping{Name: "keep_if", Doc: "The condition for keeping an element of a repeated message.", Need: "keep", Keys: []Key{
		{Name: "positive", Kind: KindName, Group: "keep", Doc: "The Go field must be above zero."},
		{Name: "present", Kind: KindPath, Group: "keep", Doc: "There must be a value at this path of the message."},
		{Name: "non_empty", Kind: KindName, Group: "keep", Doc: "The Go field must not be empty."},
		{Name: "profile", Kind: KindChoice, Choices: profiles(), Doc: "Drop elements only in this profile."},
	}}
}

func stopMapping() Mapping {
	return Mapping{Name: "stop_if", Doc: "The condition for not reading the rest of a struct. Then the fields after the named one are zero, and the rules of the struct are not checked.", Keys: []Key{
		{Name: "non_empty", Kind: KindName, Required: true, Doc: "The Go field must not be empty."},
		{Name: "profile", Kind: KindChoice, Choices: profiles(), Doc: "Stop only in this profile."},
	}}
}

func condMapping() Mapping {
	return Mapping{Name: "when", Doc: "A condition: all of its parts must hold.", Keys: []Key{
		{Name: "present", Kind: KindPaths, Doc: "There is a value at each of these paths."},
		{Name: "absent", Kind: KindPaths, Doc: "There is no value at any of these paths."},
		{Name: "equals", Kind: KindPairs, Doc: "Paths and the values they must have."},
		{Name: "xdstp_name", Kind: KindFlag, Doc: "Whether the resource's name is an xdstp name."},
		{Name: "profile", Kind: KindChoice, Choices: profiles(), Doc: "How strictly the program validates resources: as gRPC must, or as other proxies may."},
		{Name: "side", Kind: KindChoice, Choices: []string{"client", "server"}, Doc: "Who uses the message; see `side` of a struct."},
	}}
}

func refMapping() Mapping {
	return Mapping{Name: "ref", Doc: "A field that names another resource.", Keys: []Key{
		{Name: "to", Kind: KindMessage, Required: true, Doc: "The full name of the other resource's message."},
		{Name: "from", Kind: KindPath, Required: true, Doc: "A path of Go fields from the update, through slices, pointers and cases of oneofs, to a string or strings."},
	}}
}

func hookMapping() Mapping {
	return Mapping{Name: "hook", Doc: "A hand-written function that checks or changes the whole resource.", Need: "hook", Keys: []Key{
		{Name: "validate", Kind: KindFunc, Group: "hook", Doc: "func(*resource.DecodeContext, resource.Path, *<message>, *resource.Violations), called after the rules of the message."},
		{Name: "check", Kind: KindFunc, Group: "hook", Doc: "func(*resource.DecodeContext, *Update, *resource.Violations), called after decoding, even if there are violations. Fields that could not be decoded are zero."},
		{Name: "finish", Kind: KindFunc, Group: "hook", Doc: "func(*resource.DecodeContext, *Update, *resource.Violations), called last, and only without violations."},
		{Name: "at", Kind: KindPath, With: []string{"validate"}, Doc: "The message to check, or each message of a repeated path; by default the resource's message."},
		{Name: "needs", Kind: KindPaths, With: []string{"validate"}, Doc: "Paths in that message. The hook gets their values instead of the message."},
		{Name: "profile", Kind: KindChoice, Choices: profiles(), With: []string{"validate"}, Doc: "Call the hook only in this profile. In the other one, `decoder: wire` does not unmarshal the resource's message for it."},
	}}
}

func ruleMapping(kinds []Key) Mapping {
	keys := []Key{{Name: "at", Kind: KindPath, Doc: "The path of the value; by default the current message. Behind a map, `.key` leads to its keys and `.value` to its values. A path with an upper-case first letter leads through Go fields. Its rule is checked after decoding."}}
	keys = append(append(keys, kinds...), []Key{
		{Name: "from", Kind: KindChoice, Choices: []string{"annotations"}, Group: "kind", Doc: "`annotations`: all rules of the message's annotations for protoc-gen-validate and protovalidate, and of the messages in it."},
		{Name: "when", Kind: KindMapping, Of: "when", Doc: "The condition of the rule. Its paths start where `at` starts. A repeated field in both paths is the same element."},
		{Name: "why", Kind: KindText, Doc: "The source of the rule, such as \"A47\". A violation shows it."},
	}...)
	return Mapping{Name: "rule", Doc: "A rule that a resource must fulfil: a path, one kind of rule, and an optional condition.", Keys: keys}
}
