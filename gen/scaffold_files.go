package gen

import (
	"slices"
	"strings"
)

// scaffoldFiles returns the templates of a new package's files, by name. In names,
// "package" stands for the name of the package.
func scaffoldFiles() map[string]string {
	return map[string]string{
		"resource.yaml":          scaffoldDescriptor,
		"doc.go":                 scaffoldDoc,
		"hooks.go":               scaffoldHooks,
		"package_test.go":        scaffoldTest,
		"testdata/minimal.txtar": scaffoldCase,
	}
}

// sortFiles sorts files by path.
func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

const scaffoldDescriptor = `# yaml-language-server: $schema={{.Schema}}
version: v1
resource:
  message: {{.Message}}
{{- if .GoPackage}}
  go: {{.GoPackage}}
{{- end}}
  name: {{or .NameField "wrapper"}}
  sotw: {{if .Complete}}complete # absence deletes{{else}}partial # absence from a state-of-the-world response deletes nothing{{end}}
  doc: Update is one {{.Short}}.

# The fields of Update. There is a line for every field of the message: take the # away from those that are needed,
# and say in ` + "`doc`" + ` what they are.
fields:
{{- range .Fields}}
  # - {{.Line}} # {{.About}}
{{- end}}
{{- if .Structs}}

# What the messages in them become.
structs:
{{- range .Structs}}
  # {{.Name}}: {fields: []} # {{.Message}}
{{- end}}
{{- end}}

# What a resource must fulfil, as
#   - {at: some.field, required: true}
rules:

# Which fields name other resources, as
#   - {to: envoy.config.cluster.v3.Cluster, from: SomeField}
refs:
`

const scaffoldDoc = `// Package {{.Package}} is the resource type {{.Message}}.
package {{.Package}}

` + "//go:generate go tool xdsgen resource.yaml\n" // not at the start of a line: that would be a directive here

const scaffoldHooks = `package {{.Package}}

// Here go the hooks that resource.yaml names: functions for what it cannot say.
// A field {name: Size, hook: size, needs: some.field, type: int} is made by
//
//	func size(_ *resource.DecodeContext, field string) (int, error)
//
// The compiler's error about a hook that is missing, or of another type, is at a
// line that says what it must be, and so does "go tool xdsgen explain resource.yaml".
`

const scaffoldTest = `package {{.Package}}

import (
	"testing"

	"github.com/xdsforge/xdsforge/xdstest/plugintest"
	{{.GoName}} "{{.GoPath}}"
)

// An empty {{.Short}} is read.
func TestEmpty(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "example", new({{.GoName}}.{{.GoType}}))
	if err != nil {
		t.Fatal(err)
	}
	if got := u.Name().String(); got != "example" {
		t.Errorf("Name() = %q; want example", got)
	}
}
`

const scaffoldCase = `A {{.Short}} with nothing but a name. See package plugintest for what a case may have.
{{- if not .NameField}}
-- name --
example
{{- end}}
-- resource.json --
{ {{- if .NameField}}"{{.NameField}}": "example"{{end -}} }
-- want --
ok
`
