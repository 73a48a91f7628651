package descriptor

import "google.golang.org/protobuf/reflect/protoreflect"

// Framework is where the packages stand that generated code imports.
const Framework = "github.com/xdsforge/xdsforge/framework/"

// Conversion is one row of the table of values of `as`.
type Conversion struct {
	Name    string                // in the descriptor
	Takes   protoreflect.FullName // the message it reads
	Func    string                // of package convert; empty: the value is the server entry
	Package string                // of the Go type; empty: it is predeclared
	Type    string
	Pointer bool
	Equal   bool    // a method compares values of the Go type, not ==
	Context bool    // the function is given the context, too
	Inputs  []Input // the values of a view that the function gets; if none, it gets the view itself or has its own code
	Doc     string
}

// Input is a value that a conversion gets from a view. It is a field of the struct named
// after the Go type, with the suffix Parts.
type Input struct {
	Name  string   // of the field
	Paths []string // paths of values, of which at most one is set; or the path of a oneof, for the number of its set member
}

// Conversions is the table of `as`.
func Conversions() []Conversion {
	return []Conversion{
		{
			Name: "per_million", Takes: "envoy.type.v3.FractionalPercent", Func: "PerMillion", Type: "uint32",
			Doc: "A fraction in parts per million. Fractions above one become one.",
		},
		{
			Name: "host_port", Takes: "envoy.config.core.v3.Address", Func: "HostPort", Type: "string", Context: true,
			Doc: "The host and port of a socket address, in the form of net.Dial. The host may be an address or a name. In profile Envoy, an address of another kind is empty text.",
		},
		{
			Name: "addr_port", Takes: "envoy.config.core.v3.Address", Func: "AddrPort", Package: "net/netip", Type: "AddrPort",
			Doc: "The IP address and port of a socket address; a host that is not an IP address is a violation.",
		},
		{
			Name: "server_entry", Takes: "envoy.config.core.v3.SelfConfigSource", Type: "Server",
			Package: Framework + "bootstrap", Pointer: true,
			Doc: "The server entry that the resource came from, nil if the message is absent.",
		},
		{
			Name: "header_matcher", Takes: "envoy.config.route.v3.HeaderMatcher", Func: "Header", Type: "Header",
			Package: Framework + "matcher", Equal: true, Context: true, Inputs: headerInputs(),
			Doc: "A condition on a header of a call (A28).",
		},
	}
}

func headerInputs() []Input {
	return []Input{
		{"Name", []string{"name"}},
		{"Invert", []string{"invert_match"}},
		{"MissingIsEmpty", []string{"treat_missing_header_as_empty"}},
		{"Specifier", []string{"header_match_specifier"}},
		{"Text", []string{"exact_match", "prefix_match", "suffix_match", "contains_match", "safe_regex_match.regex"}},
		{"Start", []string{"range_match.start"}},
		{"End", []string{"range_match.end"}},
		{"Present", []string{"present_match"}},
		{"Pattern", []string{"string_match.match_pattern"}},
		{"PatternText", []string{"string_match.exact", "string_match.prefix", "string_match.suffix", "string_match.contains", "string_match.safe_regex.regex"}},
		{"IgnoreCase", []string{"string_match.ignore_case"}},
	}
}
