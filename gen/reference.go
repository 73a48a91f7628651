package gen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/rule"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

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

// Reference returns the reference of the language in Markdown.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	for _, m := range rule.Language() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", m.Name, m.Doc)
		emit.Table(&b, "key", "value", "with other keys", "meaning")
		for _, k := range m.Keys {
			emit.Row(&b, "`"+k.Name+"`", k.Takes(), k.Beside(m), k.Doc)
		}
	}
	b.WriteString("\n## Kinds of rules\n\nA rule has the keys of one kind.\n")
	emit.Table(&b, "keys", "example", "wording of a violation")
	for _, k := range rule.Kinds() {
		keys := slice.Map(k.Keys, func(key descriptor.Key) string { return "`" + key.Name + "`" })
		emit.Row(&b, strings.Join(keys, ", "), "`"+k.Examples[0].Rule+"`", k.Examples[0].Wording)
	}
	b.WriteString("\n## Conversions\n\nThe values of `as`.\n")
	emit.Table(&b, "name", "reads", "Go type", "meaning")
	for _, c := range descriptor.Conversions() {
		emit.Row(&b, "`"+c.Name+"`", "`"+string(c.Takes)+"`", "`"+c.GoType()+"`", c.Doc)
	}
	b.WriteString("\n## Diagnostics\n\nEach is reported as `file:line:column: message (hint) [code]`. Codes never change their meaning.\n")
	emit.Table(&b, "code", "meaning")
	for _, c := range diag.Codes() {
		emit.Row(&b, string(c.Code), c.Meaning)
	}
	return b.Bytes()
}
