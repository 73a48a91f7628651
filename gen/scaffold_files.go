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

const scaffoldDescriptor = `{{define "field"}}
{{- $about := .About}}
{{- range $i, $line := .Lines}}
  # {{$line}}{{if eq $i 0}} # {{$about}}{{end}}
{{- end}}
{{- end}}
{{- define "nested"}}
{{- $about := .About}}
{{- range $i, $line := .Lines}}
  #     {{$line}}{{if eq $i 0}} # {{$about}}{{end}}
{{- end}}
{{- end -}}
# yaml-language-server: $schema={{.Schema}}
version: v1
resource:
  message: {{.Message}}
{{- if .GoPackage}}
  go: {{.GoPackage}}
{{- end}}
  name: {{or .NameField "wrapper"}}
  sotw: {{if .Complete}}complete # absence deletes{{else}}partial # absence from a state-of-the-world response deletes nothing{{end}}
  doc: Update is one {{.Short}}.

# The fields of Update. There is a suggestion for every field of the message, and for the structs in it as far as it fits
# a screen. Remove the # of those that you need, and describe them in ` + "`doc`" + `.
fields:
{{- range .Fields}}
{{- template "field" .}}
{{- end}}
{{- if .Structs}}

# The structs of messages in them.
structs:
{{- range .Structs}}
  # {{.Name}}: # {{.Message}}
{{- if .Fields}}
  #   fields:
{{- range .Fields}}
{{- template "nested" .}}
{{- end}}
{{- else}}
  #   fields: []
{{- end}}
{{- end}}
{{- end}}

# The rules that a resource must fulfil, as
#   - {at: some.field, required: true}
{{- if .Rules}}
# These are from the annotations of the message and of the messages in it.
{{- end}}
rules:
{{- range .Rules}}
{{- if .Line}}
  - {{.Line}}
{{- else}}
# {{.Comment}}
{{- end}}
{{- end}}

# The fields that name other resources, as
#   - {to: envoy.config.cluster.v3.Cluster, from: SomeField}
refs:
{{- if .Hooks}}

# The checks in hooks.go of expressions that no rule expresses.
hooks:
{{- range .Hooks}}
  - {validate: {{.Name}}{{with .At}}, at: {{.}}{{end}}}
{{- end}}
{{- end}}
`

const scaffoldDoc = `// Package {{.Package}} is the resource type {{.Message}}.
package {{.Package}}

` + "//go:generate go tool xdsgen resource.yaml\n" // not at the start of a line: that would be a directive here

const scaffoldHooks = `package {{.Package}}
{{- if .Hooks}}

import (
	"github.com/xdsforge/xdsforge/framework/resource"
{{- range .HookImports}}
	{{.Name}} "{{.Path}}"
{{- end}}
)
{{- end}}

// This file is for the hooks of resource.yaml: functions for values and rules that it
// cannot express. A field {name: Size, hook: size, needs: some.field, type: int} needs
//
//	func size(_ *resource.DecodeContext, field string) (int, error)
//
// "go tool xdsgen explain resource.yaml" prints the signatures of all hooks.
{{- range .Hooks}}

// {{.Name}} is for this CEL expression of {{.About}}:
//
{{- range .Lines}}
//	{{.}}
{{- end}}
//
// A violation is v.Add({{if .Field}}p.Field("{{.Field}}"){{else}}p{{end}}, nil, "must …").
func {{.Name}}(_ *resource.DecodeContext, _ resource.Path, _ *{{.GoType}}, _ *resource.Violations) {
}
{{- end}}
`

const scaffoldTest = `package {{.Package}}

import (
	"testing"

	"github.com/xdsforge/xdsforge/xdstest"
	{{.GoName}} "{{.GoPath}}"
	"google.golang.org/protobuf/encoding/protojson"
)

// TestMinimal decodes a {{.Short}} with only the required fields.
func TestMinimal(t *testing.T) {
	m := new({{.GoName}}.{{.GoType}})
	if err := protojson.Unmarshal([]byte({{"\x60"}}{{.Minimal}}{{"\x60"}}), m); err != nil {
		t.Fatal(err)
	}
	u := xdstest.Decode(t, Type(), m)
{{- if .NameField}}
	if got, want := u.Name().String(), {{printf "%q" .Name}}; got != want {
		t.Errorf("Name() = %q; want %q", got, want)
	}
{{- else}}
	if got := u.Name().String(); got == "" {
		t.Error("Name() is empty")
	}
{{- end}}
}
{{- if .Unexpressed}}

// TestAnnotations fails until each annotation that no rule expresses has a check. Complete its hook in hooks.go, or write
// one, or accept that nothing checks it. Then remove its line.
func TestAnnotations(t *testing.T) {
	for _, annotation := range []string{
{{- range .Unexpressed}}
		{{printf "%q" .}},
{{- end}}
	} {
		t.Errorf("nothing checks this annotation: %s", annotation)
	}
}
{{- end}}
`

const scaffoldCase = `A {{.Short}} with only the required fields. Package plugintest documents the files of a case.
{{- if not .NameField}}
-- name --
example
{{- end}}
-- resource.json --
{{.Minimal}}
-- want --
ok
`
