package gen_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/rule"
)

// schema compiles the language's schema.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := rule.Language().Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(descriptor.SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(descriptor.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everything is a descriptor that has every key of the language.
func everything(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range rule.Kinds() {
		for _, e := range k.Examples {
			data = bytes.Replace(data, []byte("refs:\n"), []byte("  - "+e.Rule+"\nrefs:\n"), 1)
		}
	}
	for _, m := range rule.Language() {
		for _, k := range m.Keys {
			if !regexp.MustCompile(`\b` + k.Name + `:`).Match(data) {
				t.Errorf("everything.yaml lacks the key %q of %s", k.Name, m.Name)
			}
		}
	}
	return data
}

// A corpus is descriptors of every kind: right ones, wrong ones, and one in which
// one thing is changed.
func corpus(t *testing.T) map[string][]byte {
	t.Helper()
	all := mutations(t, everything(t))
	for _, d := range goldens(t) {
		all[d.Path] = d.Data
	}
	for i, text := range guideDescriptors(t) {
		all[fmt.Sprint("guide ", i+1)] = []byte(text)
	}
	files, err := filepath.Glob("testdata/diag/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		all[file] = diagCase(t, file)
	}
	return all
}

// Schema and walker say the same of every descriptor.
func TestSchemaAndWalker(t *testing.T) {
	s := schema(t)
	verdicts := make(map[bool]int)
	for name, data := range corpus(t) {
		bag := new(diag.Bag)
		rule.Language().Parse(data, bag)
		faults := bag.Errors()
		if slices.ContainsFunc(faults, func(d diag.Diagnostic) bool {
			// The parser rejects a file that is not a document or has a duplicate key before the
			// schema sees it.
			return d.Code == diag.Syntax || d.Code == diag.DuplicateKey || strings.Contains(d.Message, "alias")
		}) {
			continue
		}
		var doc any
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err := s.Validate(doc)
		if (err == nil) != (len(faults) == 0) {
			t.Errorf("%s:\nwalker: %v\nschema: %v", name, faults, err)
		}
		verdicts[err == nil]++
	}
	t.Logf("%d right and %d wrong descriptors", verdicts[true], verdicts[false])
	if verdicts[true] < 100 || verdicts[false] < 1000 {
		t.Errorf("%d right and %d wrong descriptors are too few", verdicts[true], verdicts[false])
	}
}

// mutations are copies of a descriptor in which one node is another, one key has
// another name, or one entry is gone. A list has the changed item only, or its first one, which keeps the copies small.
func mutations(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]byte)
	note := func(what string, n *yaml.Node) {
		text, err := yaml.Marshal(&doc)
		if err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprintf("%s at %d:%d", what, n.Line, n.Column)] = text
	}
	var visit func(n *yaml.Node, key bool)
	visit = func(n *yaml.Node, key bool) {
		replace(n, key, note)
		if n.Kind == yaml.MappingNode {
			shuffle(n, note)
		}
		all := n.Content
		for i, c := range all {
			if n.Kind == yaml.SequenceNode {
				n.Content = []*yaml.Node{c}
			} else {
				n.Content = shortened(all, i)
			}
			visit(c, n.Kind == yaml.MappingNode && i%2 == 0)
		}
		n.Content = all
	}
	visit(doc.Content[0], false)
	return out
}

// shortened returns nodes in which lists have only the first item, but for the node at index i.
func shortened(nodes []*yaml.Node, i int) []*yaml.Node {
	nodes = slices.Clone(nodes)
	for j, n := range nodes {
		if j != i && n.Kind == yaml.SequenceNode && len(n.Content) > 1 {
			short := *n
			short.Content = n.Content[:1]
			nodes[j] = &short
		}
	}
	return nodes
}

// replace puts nodes of every kind in the place of n; keys are texts.
func replace(n *yaml.Node, key bool, note func(string, *yaml.Node)) {
	old := *n
	scalar := func(tag, value string) yaml.Node { return yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value} }
	for what, other := range map[string]yaml.Node{
		"null": scalar("!!null", "null"), "true": scalar("!!bool", "true"), "false": scalar("!!bool", "false"),
		"a number": scalar("!!int", "3"), "a negative number": scalar("!!int", "-3"), "a fraction": scalar("!!float", "1.5"),
		"no text": scalar("!!str", ""), "a blank": scalar("!!str", " "), "a name": scalar("!!str", "Name"), "a word": scalar("!!str", "word"),
		"a keyword": scalar("!!str", "func"), "a type": scalar("!!str", "string"), "a path": scalar("!!str", "a.B_c"), "no path": scalar("!!str", "a..b"),
		"a list": {Kind: yaml.SequenceNode, Tag: "!!seq"}, "a mapping": {Kind: yaml.MappingNode, Tag: "!!map"},
		"a list of texts": {Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: "a"}}},
	} {
		if key && other.Tag != "!!str" {
			continue
		}
		*n = other
		note(what, &old)
	}
	*n = old
}

// shuffle takes each entry of a mapping away, and renames its key: to others of
// the mappings that have it, and to one that none has.
func shuffle(n *yaml.Node, note func(string, *yaml.Node)) {
	entries := n.Content
	for i := 0; i+1 < len(entries); i += 2 {
		n.Content = slices.Delete(slices.Clone(entries), i, i+2)
		note("an entry less", entries[i])
		n.Content = entries
		old := entries[i].Value
		for _, name := range append(siblings(old), "none") {
			if !slices.ContainsFunc(entries, func(e *yaml.Node) bool { return e.Value == name }) {
				entries[i].Value = name
				note("key "+old+" called "+name, entries[i])
			}
		}
		entries[i].Value = old
	}
}

// siblings are the keys of all mappings that have a key.
func siblings(key string) []string {
	var out []string
	for _, m := range rule.Language() {
		if slices.ContainsFunc(m.Keys, func(k descriptor.Key) bool { return k.Name == key }) {
			for _, k := range m.Keys {
				out = append(out, k.Name)
			}
		}
	}
	return out
}
