package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen"
	"github.com/xdsforge/xdsforge/gen/internal/rule"
)

// exampleHead is the descriptor to which the test adds the rule of an example.
const exampleHead = `version: v1
resource:
  message: xdsforge.test.v1.Thing
  go: github.com/xdsforge/xdsforge/gen/testdata/testpb
  name: name
  sotw: partial
fields: [{name: Text, from: text}]
rules:
`

// TestExamples checks that each example is a rule with the stated wording, and that the
// generator writes code for it.
func TestExamples(t *testing.T) {
	want := make(map[string]string) // by rule
	var text strings.Builder
	text.WriteString(exampleHead)
	for _, k := range rule.Kinds() {
		for i, e := range k.Examples {
			reason := fmt.Sprintf("%s%d", k.Keys[0].Name, i+1)
			fmt.Fprintf(&text, "  - %s, why: %s}\n", strings.TrimSuffix(e.Rule, "}"), reason)
			want[reason] = e.Wording
		}
	}
	in := gen.Input{Descriptors: []gen.Descriptor{{Path: "../outputtest/resource.yaml", Data: []byte(text.String())}}}
	if _, err := gen.Generate(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	explained, err := in.Explain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for reason, wording := range want {
		if !strings.Contains(string(explained), wording+" ("+reason+")\n") {
			t.Errorf("the wording of example %s is not %q:\n%s", reason, wording, explained)
		}
	}
}

// TestKinds checks that examples have all keys of their kinds, and that no two kinds share a key.
func TestKinds(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range rule.Kinds() {
		var examples string
		for _, e := range k.Examples {
			examples += e.Rule
		}
		for _, key := range k.Keys {
			if seen[key.Name] || !strings.Contains(examples, key.Name+": ") {
				t.Errorf("key %q is in two kinds, or in no example of its kind", key.Name)
			}
			seen[key.Name] = true
		}
	}
	if len(rule.Kinds()) < 11 {
		t.Errorf("there are %d kinds", len(rule.Kinds()))
	}
}
