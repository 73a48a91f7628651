package descriptor_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/rule"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// The published schema is the one that the language gives. With UPDATE set in
// the environment it is written anew.
func TestPublishedSchema(t *testing.T) {
	want, err := rule.Language().Schema()
	if err != nil {
		t.Fatal(err)
	}
	published(t, "resource.schema.json", want)
}

// The same for the reference.
func TestPublishedReference(t *testing.T) {
	published(t, "descriptor.md", reference(t))
}

// published compares a file of docs with the expected text, or writes it.
func published(t *testing.T, name string, want []byte) {
	t.Helper()
	file := "../../../docs/" + name
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the tables of the generator give; run UPDATE=1 go test ./gen/internal/descriptor", file)
	}
}

// referenceHead starts the reference.
const referenceHead = `# The descriptor language

Look up the mappings and keys of a ` + "`resource.yaml`" + `, the kinds of rules, the conversions and the diagnostics. The
[guide for plugin authors](plugin-authors.md) shows how to use them. This file and the [JSON Schema](resource.schema.json) are
generated from the language of the generator. Editors complete and check a descriptor with the schema if its first line is

` + "```yaml" + `
# yaml-language-server: $schema=` + descriptor.SchemaID + `
` + "```" + `

Keys of one group ("at most one of") exclude each other. A list of mappings can be empty.
`

// reference returns the reference of the language in Markdown.
func reference(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(referenceHead)
	for _, m := range rule.Language() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", m.Name, m.Doc)
		table(&b, "key", "value", "with other keys", "meaning")
		for _, k := range m.Keys {
			row(&b, "`"+k.Name+"`", k.Takes(), k.Beside(m), k.Doc)
		}
	}
	b.WriteString("\n## Kinds of rules\n\nA rule has the keys of one kind.\n")
	table(&b, "keys", "example", "wording of a violation")
	for _, k := range rule.Kinds() {
		keys := slice.Map(k.Keys, func(key descriptor.Key) string { return "`" + key.Name + "`" })
		row(&b, strings.Join(keys, ", "), "`"+k.Examples[0].Rule+"`", k.Examples[0].Wording)
	}
	b.WriteString("\n## Conversions\n\nThe values of `as`.\n")
	table(&b, "name", "reads", "Go type", "meaning")
	for _, c := range descriptor.Conversions() {
		row(&b, "`"+c.Name+"`", "`"+string(c.Takes)+"`", "`"+c.GoType()+"`", c.Doc)
	}
	b.WriteString("\n## Diagnostics\n\nEach is reported as `file:line:column: message (hint) [code]`. Codes never change their meaning.\n")
	table(&b, "code", "meaning")
	for _, c := range codes(t) {
		row(&b, c[0], c[1])
	}
	return b.Bytes()
}

// table starts a table in Markdown.
func table(w *bytes.Buffer, head ...string) {
	fmt.Fprintln(w)
	row(w, head...)
	row(w, slices.Repeat([]string{"---"}, len(head))...)
}

// row adds a row to a table.
func row(w *bytes.Buffer, cells ...string) {
	fmt.Fprintf(w, "| %s |\n", strings.Join(slice.Map(cells, emit.Cell), " | "))
}

// codes returns the codes of diagnostics and their comments. They are in order, and each has a comment.
func codes(t *testing.T) (out [][2]string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../diag/codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if want := fmt.Sprintf("XG%03d", len(out)+1); err != nil || code != want {
			t.Errorf("%s is %q; want %q: %v", v.Names[0], code, want, err)
		}
		meaning := strings.TrimSpace(v.Comment.Text())
		if !strings.HasSuffix(meaning, ".") {
			t.Errorf("%s: comment %q must be a sentence", v.Names[0], meaning)
		}
		out = append(out, [2]string{code, meaning})
		return false
	})
	return out
}
