package descriptor

import (
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// The tree of a descriptor, and the language that it is in. The tags of a field describe the key that it takes its
// value from, as [Key] does. The tags of the first field describe the mapping. In the documentation, ´ stands for a
// grave accent.

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
	diag.Pos `mapping:"descriptor" doc:"One resource type."`
	Version  Text     `key:"version" kind:"choice" choices:"v1" required:"true" doc:"The version of the language."`
	Resource Resource `key:"resource" required:"true" doc:"The message of the type, and properties of the type."`
	Fields   []Field  `key:"fields" required:"true" doc:"The fields of the update, in the order in which they are read."`
	Structs  []Struct `key:"structs" doc:"The structs of fields, by their Go names."`
	Rules    []Rule   `key:"rules" doc:"The rules that a resource must fulfil. Their paths start at its message."`
	Refs     []Ref    `key:"refs" doc:"The fields that name other resources."`
	Hooks    []Hook   `key:"hooks" doc:"Hand-written functions that check or change the whole resource."`
}

// Resource has the message of the resource type and its properties.
type Resource struct {
	diag.Pos   `mapping:"resource" doc:"The message of the type, and properties of the type."`
	Message    Text `key:"message" kind:"message" required:"true" doc:"The message's full name."`
	Go         Text `key:"go" doc:"The import path of the message's Go package. It follows from the name for envoy.*, xds.*, udpa.* and google.protobuf.*."`
	Name       Text `key:"name" required:"true" doc:"The string field with the resource's name, or ´wrapper´ if the message has no such field."`
	SotW       Text `key:"sotw" kind:"choice" choices:"complete partial" required:"true" doc:"´complete´: a state-of-the-world response has every resource, so absence deletes (Listener and Cluster). ´partial´: absence has no meaning."`
	Wildcard   Flag `key:"wildcard" doc:"Programs can watch all resources of the type, under the name ´*´."`
	Globs      Flag `key:"globs" doc:"Programs can watch xdstp glob collections of the type (TP1)."`
	Collection Text `key:"collection" kind:"message" doc:"The full name of the message of the type's list collections. Programs can watch them (TP1)."`
	Decoder    Text `key:"decoder" kind:"choice" choices:"message wire" doc:"How the decoder reads bytes. ´message´, the default, unmarshals the message. ´wire´ reads only the fields that fields, rules, refs and hooks need. It skips other bytes, even malformed ones."`
	Strict     Flag `key:"strict" with:"decoder" doc:"´decoder: wire´ checks every byte and rejects a message that is malformed anywhere."`
	Doc        Text `key:"doc" doc:"The doc comment of Update."`
}

// Field is one field of the update or of a struct.
type Field struct {
	diag.Pos  `mapping:"field" doc:"One field of the update or of a struct. The Go type follows from the message unless a key selects another one."`
	Name      Text   `key:"name" kind:"name" required:"true" doc:"The Go name."`
	Doc       Text   `key:"doc" doc:"The doc comment."`
	From      []Text `key:"from" kind:"paths" doc:"The path of the value from the current message, or several paths whose values are concatenated. A path through repeated fields leads to all of their values."`
	Pick      *Pick  `key:"pick" with:"from" doc:"´from´ is a repeated message; the field takes the first element that fits."`
	Then      Text   `key:"then" kind:"path" with:"pick" doc:"The path of the value in the picked element."`
	As        Text   `key:"as" kind:"choice" choices:"per_million host_port addr_port server_entry header_matcher" group:"value" with:"from" doc:"A conversion of the table below."`
	Struct    Text   `key:"struct" kind:"name" group:"value" doc:"Decode the message into this struct. The struct is zero if the message is absent."`
	Each      Text   `key:"each" kind:"name" group:"value" with:"from" doc:"Decode a repeated message into a slice of this struct, or a map of messages into a map."`
	Enum      []Text `key:"enum" kind:"values" group:"value" with:"from" doc:"Declare Go constants for ´all´ values of the enum, or for those listed. Another number is a violation."`
	Otherwise Text   `key:"otherwise" with:"enum" doc:"The value for numbers outside of ´enum´, which are then no violation."`
	Oneof     []Case `key:"oneof" group:"value" doc:"A closed Go interface. Its value is the first case that applies, or nil."`
	Any       Text   `key:"any" kind:"message" with:"struct each" doc:"The value is a google.protobuf.Any that must hold this message."`
	Go        Text   `key:"go" with:"any" doc:"The import path of the Go package of the message in ´any´, if it does not follow from its name."` // of Any
	Typed     Flag   `key:"typed_struct" with:"any" doc:"The Any may also hold an xds.type.v3.TypedStruct or a udpa.type.v1.TypedStruct whose value is the message in JSON."`
	AnyOther  Text   `key:"any_other" kind:"choice" choices:"grpc http acting envoy" with:"any" doc:"In this profile, the Any may hold any other message, which counts as no value. In other profiles, it is a violation."`
	Resource  Text   `key:"resource" kind:"message" group:"value" with:"from" doc:"The message is an inlined resource of this registered type. The Go type is resource.Update."`
	Hook      Text   `key:"hook" kind:"func" group:"value" doc:"A hand-written function returns the value: func(*resource.DecodeContext, <one parameter per need>) (<type>, error)."`
	Needs     []Text `key:"needs" kind:"paths" with:"hook" doc:"The arguments of the hook; by default the value of ´from´. A name with an upper-case first letter is an earlier field of the same struct. The argument for a oneof of protobuf is an int32, the number of the member that is set, or 0."`
	Encoded   Flag   `key:"encoded" with:"hook" doc:"The hook gets each message as encoded bytes, nil if it is absent, so that it can unmarshal only the messages that it needs. Lists and maps are not affected."`
	Type      Text   `key:"type" with:"hook enum oneof" doc:"The Go type that a hook returns, or the name of the type of an enum or oneof. The default is the field's name."`
	Optional  Flag   `key:"optional" doc:"The field is a pointer, nil if the value is absent. With ´struct´ and without ´from´, it is nil if all fields of the struct are zero: rare fields take the memory of one pointer."`
	Hidden    Flag   `key:"hidden" doc:"The Go field is unexported, for hand-written methods of the package. Its Go name has a lower-case first letter; the descriptor uses the name above. ´String´ and ´MarshalJSON´ show scalars and lists of scalars under that name, and omit other hidden values."`
	Secret    Flag   `key:"secret" doc:"´String´ and ´MarshalJSON´ show that the field is set, but not its value."`
	Default   Text   `key:"default" kind:"literal" with:"from" doc:"The value if it is absent, or zero if the message does not distinguish the two. ´$name´ is the resource's canonical name."`
	When      *Cond  `key:"when" doc:"The decoder reads the field only if this holds. Otherwise it is zero, and the rules of its structs are not checked."`
}

// Pick chooses the first fitting element of a repeated message.
type Pick struct {
	diag.Pos `mapping:"pick" doc:"Chooses the first fitting element of a repeated message."`
	Equals   []Pair `key:"equals" required:"true" doc:"Paths of the element, and the values they must have."`
}

// Case is one alternative of a oneof.
type Case struct {
	diag.Pos `mapping:"case" need:"content" doc:"One alternative of a oneof. Cases are tried in their order."`
	Case     Text    `key:"case" kind:"name" required:"true" doc:"The Go type of the case. With ´struct´, it is the name of the struct."`
	Doc      Text    `key:"doc" doc:"The doc comment of the type of ´fields´."`
	When     *Cond   `key:"when" doc:"The condition of the case; by default that the value of ´from´ is present."`
	From     Text    `key:"from" kind:"path" doc:"The message of the case; by default the current message."`
	Any      Text    `key:"any" kind:"message" with:"from" doc:"´from´ is a google.protobuf.Any, and the case applies when it holds this message."`
	Go       Text    `key:"go" with:"any" doc:"The import path of the Go package of the message in ´any´, if it does not follow from its name."` // of Any
	Typed    Flag    `key:"typed_struct" with:"any" doc:"The Any may also hold an xds.type.v3.TypedStruct or a udpa.type.v1.TypedStruct whose value is the message in JSON."`
	Struct   Text    `key:"struct" kind:"name" group:"content" doc:"A named struct."`
	Fields   []Field `key:"fields" group:"content" doc:"The fields of a struct of this case alone."`
	Hook     Text    `key:"hook" kind:"func" group:"content" doc:"A hand-written function returns the value. Its type is hand-written too."`
	Needs    []Text  `key:"needs" kind:"paths" with:"hook" doc:"The arguments of the hook; by default the value of ´from´."`
}

// Struct is a named struct.
type Struct struct {
	diag.Pos   `mapping:"struct" doc:"A named struct, decoded from one message."`
	Name       Text    // the key it stands under
	Doc        Text    `key:"doc" doc:"The doc comment."`
	Message    Text    `key:"message" kind:"message" doc:"The message's full name. The default follows from the fields with this struct."`
	Go         Text    `key:"go" with:"message" doc:"The import path of the Go package of the message in ´message´, if it does not follow from its name."` // of Message
	Comparable Flag    `key:"comparable" doc:"Requires that == compares it, so that it can be a key of a map."`
	Side       Text    `key:"side" kind:"choice" choices:"client server" doc:"Who uses the HTTP filters in the struct (A39). Its hooks, and those of the structs in it, get the side from resource.DecodeContext.Side. The default is the side of the enclosing struct, and the client for an update."`
	KeepIf     *Keep   `key:"keep_if" doc:"The condition for keeping an element in a list of this struct. It is tested first; the rest of a dropped element is neither read nor checked."`
	StopIf     *Stop   `key:"stop_if" doc:"The condition for not reading the rest of the message. The element is kept."`
	Fields     []Field `key:"fields" required:"true" doc:"The fields, in the order in which they are read."`
	Rules      []Rule  `key:"rules" doc:"The rules for each message that is decoded into the struct. Their paths start at that message."`
}

// Keep selects the elements of a repeated message to keep.
type Keep struct {
	diag.Pos `mapping:"keep_if" need:"keep" doc:"The condition for keeping an element of a repeated message."`
	Positive Text `key:"positive" kind:"name" group:"keep" doc:"The Go field must be above zero."`
	Present  Text `key:"present" kind:"path" group:"keep" doc:"There must be a value at this path of the message."`
	NonEmpty Text `key:"non_empty" kind:"name" group:"keep" doc:"The Go field must not be empty."`
	Profile  Text `key:"profile" kind:"choice" choices:"grpc http acting envoy" doc:"Drop elements only in this profile."`
}

// Stop says when the rest of a message is not read.
type Stop struct {
	diag.Pos `mapping:"stop_if" doc:"The condition for not reading the rest of a struct. Then the fields after the named one are zero, and the rules of the struct are not checked."`
	NonEmpty Text `key:"non_empty" kind:"name" required:"true" doc:"The Go field must not be empty."`
	Profile  Text `key:"profile" kind:"choice" choices:"grpc http acting envoy" doc:"Stop only in this profile."`
}

// Rule is one thing that a resource must fulfil.
type Rule struct {
	diag.Pos    `mapping:"rule" doc:"A rule that a resource must fulfil: a path, one kind of rule, and an optional condition."`
	At          Text       `key:"at" kind:"path" doc:"The path of the value; by default the current message. Behind a map, ´.key´ leads to its keys and ´.value´ to its values. A path with an upper-case first letter leads through Go fields. Its rule is checked after decoding."`
	Args        []Argument `key:"*"` // of the kind of rule
	From        Text       `key:"from" kind:"choice" choices:"annotations" group:"kind" doc:"´annotations´: all rules of the message's annotations for protoc-gen-validate and protovalidate, and of the messages in it."`
	When        *Cond      `key:"when" doc:"The condition of the rule. Its paths start where ´at´ starts. A repeated field in both paths is the same element."`
	Unexpressed []Text     `key:"unexpressed" kind:"paths" with:"from" doc:"Paths of annotations that no rule expresses. Hooks check them, or you accept that nothing does. A warning names every other one."`
	Why         Text       `key:"why" doc:"The source of the rule, such as \"A47\". A violation shows it."`

	Origin string // the annotation from which the rule is derived, if it is
}

// Argument is a key of a kind of rule with its values. A key that takes one value has one.
type Argument struct {
	Key    string
	Values []Text
}

// String is the rule in YAML, with its keys in a fixed order.
func (r *Rule) String() string {
	parts := []string{"at: " + r.At.Value}
	args := slice.Map(r.Args, func(a Argument) string { return a.Key + ": " + texts(a.Values) })
	slices.Sort(args)
	parts = append(parts, args...)
	if r.When != nil {
		conds := slice.Map(r.When.Equals, func(p Pair) string { return "equals " + p.Key.Value + ": " + p.Value.Value })
		for key, list := range map[string][]Text{"present": r.When.Present, "absent": r.When.Absent} {
			if len(list) > 0 {
				conds = append(conds, key+": "+texts(list))
			}
		}
		slices.Sort(conds)
		parts = append(parts, "when: {"+strings.Join(conds, ", ")+"}")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// texts are values as a rule shows them.
func texts(values []Text) string {
	out := slice.Map(values, func(t Text) string { return t.Value })
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
	diag.Pos  `mapping:"when" doc:"A condition: all of its parts must hold."`
	Present   []Text `key:"present" kind:"paths" doc:"There is a value at each of these paths."`
	Absent    []Text `key:"absent" kind:"paths" doc:"There is no value at any of these paths."`
	Equals    []Pair `key:"equals" doc:"Paths and the values they must have."`
	XdstpName Flag   `key:"xdstp_name" kind:"flag" doc:"Whether the resource's name is an xdstp name."`
	Profile   Text   `key:"profile" kind:"choice" choices:"grpc http acting envoy" doc:"How strictly the program validates resources: as gRPC must (´grpc´), as HTTP clients and servers do (´http´), or as other proxies may (´envoy´). ´acting´: in profiles GRPC and HTTP, whose programs act on the configuration. A rule about a field that these programs ignore belongs there."`
	Side      Text   `key:"side" kind:"choice" choices:"client server" doc:"Who uses the message; see ´side´ of a struct."`
}

// Pair is a path and the value it must have.
type Pair struct {
	Key   Text
	Value Text
}

// Ref marks a field that names another resource.
type Ref struct {
	diag.Pos `mapping:"ref" doc:"A field that names another resource."`
	To       Text `key:"to" kind:"message" required:"true" doc:"The full name of the other resource's message."`
	From     Text `key:"from" kind:"path" required:"true" doc:"A path of Go fields from the update, through slices, pointers and cases of oneofs, to a string or strings."`
}

// Hook is a hand-written function.
type Hook struct {
	diag.Pos `mapping:"hook" need:"hook" doc:"A hand-written function that checks or changes the whole resource."`
	Validate Text   `key:"validate" kind:"func" group:"hook" doc:"func(*resource.DecodeContext, resource.Path, *<message>, *resource.Violations), called after the rules of the message."`
	Check    Text   `key:"check" kind:"func" group:"hook" doc:"func(*resource.DecodeContext, *Update, *resource.Violations), called after decoding, even if there are violations. Fields that could not be decoded are zero."`
	Finish   Text   `key:"finish" kind:"func" group:"hook" doc:"func(*resource.DecodeContext, *Update, *resource.Violations), called last, and only without violations."`
	At       Text   `key:"at" kind:"path" with:"validate" doc:"The message to check, or each message of a repeated path; by default the resource's message."`
	Needs    []Text `key:"needs" kind:"paths" with:"validate" doc:"Paths in that message. The hook gets their values instead of the message."`
	Profile  Text   `key:"profile" kind:"choice" choices:"grpc http acting envoy" with:"validate" doc:"Call the hook only in this profile. In other ones, ´decoder: wire´ does not unmarshal the resource's message for it."`
}
