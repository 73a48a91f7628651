package annotation

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
)

// TestCoverage measures the share of PGV's constraints that become rules, in all messages below
// the resources of gRPC.
func TestCoverage(t *testing.T) {
	roots := []string{
		"envoy.config.listener.v3.Listener", "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"envoy.config.route.v3.RouteConfiguration", "envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment",
	}
	c := protoindex.Config{Dir: "."}
	for _, r := range roots {
		c.Wants = append(c.Wants, protoindex.Want{Message: r})
	}
	index, err := protoindex.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	rules, messages := 0, make(map[*protogen.Message]bool)
	var comments []string
	var visit func(m *protogen.Message)
	visit = func(m *protogen.Message) {
		if messages[m] {
			return
		}
		messages[m] = true
		for _, f := range m.Fields {
			if options := sources()[0].fieldRules(f, index); options != nil {
				d := newDeriver(index, "PGV", f, nil, "")
				d.fieldRules(options)
				for _, r := range d.out {
					if r.Line != "" {
						rules += strings.Count(r.Line, "above:") + strings.Count(r.Line, "below:") + max(strings.Count(r.Line, "min:")+strings.Count(r.Line, "max:"), 1)
					} else {
						comments = append(comments, string(m.Desc.Name())+"."+r.Comment)
					}
				}
			}
			if f.Message != nil {
				visit(f.Message)
			}
		}
	}
	for _, r := range roots {
		m, err := index.Message(r)
		if err != nil {
			t.Fatal(err)
		}
		visit(m)
	}
	share := float64(rules) / float64(rules+len(comments))
	t.Logf("%d constraints in %d messages are rules, %d are not (%.1f %%)", rules, len(messages), len(comments), 100*share)
	if rules < 300 || share < 0.98 {
		t.Errorf("%d rules, %.1f %%; want at least 98 %%. Not expressed:\n%s", rules, 100*share, strings.Join(comments, "\n"))
	}
}

// field is a field of a message in a file that a test declares.
func field(name string, number int32, typ any, options []byte) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{Name: new(name), Number: new(number), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	switch typ := typ.(type) {
	case descriptorpb.FieldDescriptorProto_Type:
		f.Type = typ.Enum()
	case string:
		if name, repeated := strings.CutPrefix(typ, "repeated "); repeated {
			typ, f.Label = name, descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), new(typ)
	}
	if options != nil {
		f.Options = new(descriptorpb.FieldOptions)
		f.Options.ProtoReflect().SetUnknown(options)
	}
	return f
}

// option encodes buf.validate.field with the given FieldRules.
func option(rules ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 1159, protowire.BytesType), slices.Concat(rules...))
}

func number(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func bytes(field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), v)
}

// TestProtovalidate derives rules from options of protovalidate, of which a descriptor set has a part.
func TestProtovalidate(t *testing.T) {
	const (
		text     = descriptorpb.FieldDescriptorProto_TYPE_STRING
		number32 = descriptorpb.FieldDescriptorProto_TYPE_UINT32
		length   = descriptorpb.FieldDescriptorProto_TYPE_UINT64
		flag     = descriptorpb.FieldDescriptorProto_TYPE_BOOL
	)
	cel := func(expression string) []byte { return bytes(23, bytes(3, []byte(expression))) }
	rules := &descriptorpb.FileDescriptorProto{
		Name: new("buf/validate/validate.proto"), Package: new("buf.validate"), Syntax: new("proto3"),
		Options: &descriptorpb.FileOptions{GoPackage: new("buf.test/validate")}, Dependency: []string{"google/protobuf/descriptor.proto"},
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: new("Rule"), Field: []*descriptorpb.FieldDescriptorProto{field("expression", 3, text, nil)}},
			{Name: new("UInt32Rules"), Field: []*descriptorpb.FieldDescriptorProto{field("lt", 2, number32, nil), field("gte", 5, number32, nil)}},
			{Name: new("StringRules"), Field: []*descriptorpb.FieldDescriptorProto{field("min_len", 2, length, nil), field("pattern", 6, text, nil), field("email", 12, flag, nil)}},
			{Name: new("FieldRules"), Field: []*descriptorpb.FieldDescriptorProto{
				field("cel", 23, "repeated .buf.validate.Rule", nil), field("required", 25, flag, nil), field("ignore", 27, descriptorpb.FieldDescriptorProto_TYPE_INT32, nil),
				field("uint32", 5, ".buf.validate.UInt32Rules", nil), field("string", 14, ".buf.validate.StringRules", nil),
			}},
		},
	}
	thing := &descriptorpb.FileDescriptorProto{
		Name: new("acme/thing.proto"), Package: new("acme"), Syntax: new("proto3"), Dependency: []string{"buf/validate/validate.proto"},
		Options: &descriptorpb.FileOptions{GoPackage: new("acme.test/thing")},
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Thing"), Field: []*descriptorpb.FieldDescriptorProto{
			field("size", 1, number32, option(bytes(5, slices.Concat(number(2, 10), number(5, 2))))),
			field("name", 2, text, option(number(25, 1), bytes(14, slices.Concat(number(2, 3), bytes(6, []byte("^a")))))),
			field("mail", 3, text, option(bytes(14, number(12, 1)))),
			field("count", 4, number32, option(cel("this >= 1 && this != 7"))),
			field("word", 5, text, option(cel("size(this) <= 4"))),
			field("level", 7, number32, option(cel("this == 1 || this == 3"))),
			field("short", 8, text, option(cel("size(this) < 5 && this.size() > 1"))),
			field("inner", 9, ".acme.Inner", option(cel("has(this.name)"))),
			field("either", 10, ".acme.Inner", option(cel("has(this.name) || has(this.size)"))),
			field("odd", 6, text, option(cel("this.matches('x')"))),
		}}, {Name: new("Inner"), Field: []*descriptorpb.FieldDescriptorProto{field("name", 1, text, nil), field("size", 2, number32, nil)}}},
	}
	derive := func() []string {
		set := []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto), rules, thing}
		data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: set})
		if err != nil {
			t.Fatal(err)
		}
		index, err := protoindex.Load(t.Context(), protoindex.Config{Dir: ".", Sets: [][]byte{data}, Wants: []protoindex.Want{{Message: "acme.Thing"}}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := index.Message("acme.Thing")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range Derive(m, Depth, index) {
			got = append(got, r.Line+r.Comment)
		}
		return got
	}
	unread := "size: the option, which cannot be read = no proto file declares option 1159 of google.protobuf.FieldOptions is not expressed (protovalidate)"
	if got := derive(); len(got) != 10 || got[0] != unread {
		t.Errorf("rules without a declaration of the option:\n%s\nwant one for each field, and first %s", strings.Join(got, "\n"), unread)
	}
	rules.Extension = append(rules.Extension, field("field", 1159, ".buf.validate.FieldRules", nil))
	rules.Extension[0].Extendee = new(".google.protobuf.FieldOptions")
	got := derive()
	want := []string{
		"{at: size, min: 2, why: protovalidate}",
		"{at: size, below: 10, why: protovalidate}",
		"{at: name, min_chars: 3, why: protovalidate}",
		`{at: name, matches: "^a", why: protovalidate}`,
		"{at: name, required: true, why: protovalidate}",
		"mail: email = true is not expressed (protovalidate)",
		"{at: count, min: 1, why: protovalidate}",
		"{at: count, not_in: 7, why: protovalidate}",
		"{at: word, max_chars: 4, why: protovalidate}",
		"{at: level, in: [1, 3], why: protovalidate}",
		"{at: short, max_chars: 4, why: protovalidate}",
		"{at: short, min_chars: 2, why: protovalidate}",
		"{at: inner.name, required: true, when: {present: inner}, why: protovalidate}",
		"either: cel = has(this.name) || has(this.size) is not expressed (protovalidate)",
		"odd: cel = this.matches('x') is not expressed (protovalidate)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
