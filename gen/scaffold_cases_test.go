package gen

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/xdsforge/xdsforge/gen/internal/annotation"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// draftOf returns the draft of a package for a message, and the index.
func draftOf(t *testing.T, message, goPackage string) (*draft, *protoindex.Index) {
	t.Helper()
	index, err := protoindex.Load(t.Context(), protoindex.Config{Dir: ".", Wants: []protoindex.Want{{Message: message, GoPackage: goPackage}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.Message(message)
	if err != nil {
		t.Fatal(err)
	}
	d := newDraft(Scaffold{Message: message, GoPackage: goPackage, Folder: "."}, m, index)
	if err := d.findRules(t.Context(), index, module{}); err != nil {
		t.Fatal(err)
	}
	return d, index
}

// Each rule of a new package has a case that breaks only this rule. The other cases break none. Test scripts
// run the cases with decoders.
func TestCases(t *testing.T) {
	for _, message := range []string{
		"envoy.config.rbac.v3.RBAC",
		"envoy.config.core.v3.GrpcService",
		"envoy.config.ratelimit.v3.RateLimitServiceConfig",
		"envoy.config.route.v3.VirtualHost",
		"envoy.config.trace.v3.OpenTelemetryConfig",
		"envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
		"envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
	} {
		t.Run(message, func(t *testing.T) {
			d, index := draftOf(t, message, "")
			if broken := schema.Evaluate(d.rules, d.minimal).Violations; len(broken) > 0 {
				t.Errorf("%s breaks a rule: %s", d.Minimal, broken[0].Text)
			}
			m, err := index.Message(message)
			if err != nil {
				t.Fatal(err)
			}
			wrong, right := make(map[string]bool), 0
			for _, f := range d.cases(".") {
				_, text, _ := strings.Cut(string(f.Data), "-- resource.json --\n")
				resource, want, _ := strings.Cut(text, "\n-- want --\n")
				if err := protojson.Unmarshal([]byte(resource), dynamicpb.NewMessage(m.Desc)); err != nil {
					t.Errorf("%s: %v", f.Path, err)
				}
				if !strings.HasPrefix(filepath.Base(f.Path), "wrong_") {
					right++
					continue
				}
				path, rule, _ := strings.Cut(strings.TrimSpace(want), "; ")
				path, _, _ = strings.Cut(path, " = ")
				wrong[regexp.MustCompile(`\[[^]]*\]`).ReplaceAllString(path, "")+"; "+rule] = true
			}
			for _, f := range ruledFields(nil, d.rules, nil) {
				for _, c := range f.checks {
					if _, ok := c.Rule.(schema.Opaque); ok {
						continue
					}
					if rule := f.name() + "; " + emit.RuleText(c); !wrong[rule] {
						t.Errorf("no case breaks only this rule: %s", rule)
					}
				}
			}
			rules := len(d.Rules) - len(d.Hooks)
			for _, r := range d.Rules {
				if strings.Contains(r.Line, ", annotated: true") {
					rules--
				}
			}
			if len(wrong) != rules || 3*right < len(wrong) {
				t.Errorf("%d rules, %d cases that break one, %d that break none; want a case for each rule, and many of the others", rules, len(wrong), right)
			}
		})
	}
}

// masked is a descriptor set with a message that has a FieldMask, and one with a field whose name is that of another in JSON. It lacks
// the file of FieldMask.
const masked = `file {
  name: "masked.proto" package: "acme" syntax: "proto3" options { go_package: "acme.example/masked" }
  dependency: "google/protobuf/field_mask.proto"
  message_type { name: "Masked" field {
    name: "mask" number: 1 type: TYPE_MESSAGE type_name: ".google.protobuf.FieldMask" label: LABEL_OPTIONAL json_name: "mask"
  } }
  message_type { name: "Swapped"
    field { name: "two_words" number: 1 type: TYPE_STRING label: LABEL_REPEATED json_name: "twoWords" }
    field { name: "words" number: 2 type: TYPE_STRING label: LABEL_REPEATED json_name: "two_words" }
  }
}`

// Each value that a case can have is a value of its field.
func TestCandidates(t *testing.T) {
	const own = "github.com/xdsforge/xdsforge/gen/testdata/testpb"
	for _, message := range []string{"xdsforge.test.v1.Thing", "xdsforge.test.v1.Table"} {
		_, index := draftOf(t, message, own)
		checkCandidates(t, index, message)
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := prototext.Unmarshal([]byte(masked), set); err != nil {
		t.Fatal(err)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(fieldmaskpb.File_google_protobuf_field_mask_proto))
	encoded, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	index, err := protoindex.Load(t.Context(), protoindex.Config{Dir: ".", Sets: [][]byte{encoded}, Wants: []protoindex.Want{{Message: "acme.Masked"}, {Message: "acme.Swapped"}}})
	if err != nil {
		t.Fatal(err)
	}
	checkCandidates(t, index, "acme.Masked")
	checkCandidates(t, index, "acme.Swapped")
}

// checkCandidates decodes all values for the fields of a message.
func checkCandidates(t *testing.T, index *protoindex.Index, message string) {
	t.Helper()
	m, err := index.Message(message)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Fields {
		for _, x := range schema.Candidates(model.Step{Field: f}, nil)[1:] {
			text, err := json.Marshal(map[string]any{f.Desc.JSONName(): x})
			if err != nil {
				t.Fatal(err)
			}
			if err := protojson.Unmarshal(text, dynamicpb.NewMessage(m.Desc)); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// A message in which one of some fields must have a value gets a value that breaks no rule.
func TestChoice(t *testing.T) {
	checkRepairs(t, []string{
		"{one_of: [part, text], why: X}", "{at: text, min_chars: 2, when: {present: text}, why: X}",
		"{at: part, one_of: [size], when: {present: part}, why: X}",
	}, map[string]string{
		`{}`:                                  "must have exactly one of part, text set (X)",
		`{"text": "ab", "part": {"size": 1}}`: "must have exactly one of part, text set (X)",
		`{"part": {}}`:                        "part; must have size set when part is set (X)",
		`{"part": {"size": 1}}`:               "",
		`{"text": "ab"}`:                      "",
	})
}

// A required message is repaired before its own fields. A field without presence that is absent equals its zero value.
func TestAbsent(t *testing.T) {
	checkRepairs(t, []string{
		"{at: part, required: true, why: X}", "{at: part, one_of: [size], when: {present: part}, why: X}",
		"{at: text, min_chars: 2, when: {equals: {count: 0}}, why: X}", "{at: alias, min_chars: 2, when: {equals: {maybe: 0}}, why: X}",
	}, map[string]string{
		`{"count": 1}`:          "part; must be set (X)",
		`{"part": {"size": 1}}`: "text = \"\"; must have at least 2 characters when count is 0 (X)",
		`{"part": {"size": 1}, "count": 1, "maybe": 0, "alias": "a"}`: "alias = \"a\"; must have at least 2 characters when maybe is 0 (X)",
		`{"part": {"size": 1}, "count": 1, "alias": "a"}`:             "",
	})
}

// A required oneof gets a member that fulfils its own rules. Numbers stand in violations as decoders print them.
func TestRequiredOneof(t *testing.T) {
	checkRepairs(t, []string{
		"{at: choice, required: true, why: X}", "{at: word, min_chars: 2, when: {present: word}, why: X}", "{at: precise, max: 1.0, why: X}",
	}, map[string]string{
		`{}`:                                "choice; must be set (X)",
		`{"word": "a"}`:                     "word = \"a\"; must have at least 2 characters when word is set (X)",
		`{"number": 1, "precise": 1000000}`: "precise = 1e+06; must be at most 1.0 (X)",
	})
}

// Where no value fulfils all rules, the others are repaired.
func TestImpossible(t *testing.T) {
	rules := rulesOf(t, []string{"{at: count, min: 5, why: X}", "{at: count, max: 3, why: X}", "{at: part, required: true, why: X}"})
	m := dynamicpb.NewMessage(rules.Message.Desc)
	if schema.Repair(rules, m) || !m.Has(m.Descriptor().Fields().ByName("part")) {
		t.Errorf("%v is repaired, or has no part", m)
	}
}

// checkRepairs evaluates rules for resources, which break the given ones, and repairs the resources.
func checkRepairs(t *testing.T, lines []string, wants map[string]string) {
	t.Helper()
	rules := rulesOf(t, lines)
	for resource, want := range wants {
		m := dynamicpb.NewMessage(rules.Message.Desc)
		if err := protojson.Unmarshal([]byte(resource), m); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range schema.Evaluate(rules, m).Violations {
			got = append(got, v.Text)
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s breaks %q; want %q", resource, got, want)
		}
		if !schema.Repair(rules, m) || len(schema.Evaluate(rules, m).Violations) > 0 {
			t.Errorf("%s is not repaired: %v", resource, m)
		}
	}
}

// rulesOf returns rules of a Thing.
func rulesOf(t *testing.T, lines []string) *model.Scope {
	t.Helper()
	const thing, goPackage = "xdsforge.test.v1.Thing", "github.com/xdsforge/xdsforge/gen/testdata/testpb"
	d, index := draftOf(t, thing, goPackage)
	for _, line := range lines {
		d.Rules = append(d.Rules, annotation.Rule{Line: line})
	}
	rules, err := d.scope(t.Context(), index, module{})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
