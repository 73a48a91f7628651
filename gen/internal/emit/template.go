package emit

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"contract":   func() int { return Contract },
	"source":     source,
	"cases":      cases,
	"caseSource": caseSource,
	"wrap":       func(text string) string { return strings.Join(wrap(text, columns), "\n") },
	"cell":       Cell,
}).ParseFS(templateFiles, "templates/*"))

// execute returns the text of a template.
func execute(name string, data any) (string, error) {
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, name, data); err != nil {
		return "", fmt.Errorf("emit: %w", err)
	}
	return text.String(), nil
}

// codeData is the package as templates of code see it.
type codeData struct {
	*model.Package
	args []any // for the places in the code
	e    *emitter
}

func (d *codeData) place(c jen.Code) string {
	d.args = append(d.args, c)
	return "$"
}

// Ident is the Go name of a declaration of protobuf.
func (d *codeData) Ident(id protogen.GoIdent) string { return d.place(d.e.ident(id)) }

// GoMessage is the Go type of the resource's message.
func (d *codeData) GoMessage() string { return d.Ident(d.Message.GoIdent) }

// Named is the name of a function.
func (d *codeData) Named(name string) string { return d.e.named(name) }

// Profile is the condition that the program reads resources in a profile.
func (d *codeData) Profile(name string) string { return d.place(d.e.profile(name)) }

// LateProfiles are the profiles in which a wire decoder unmarshals the message for hooks, without those that another one
// includes.
func (d *codeData) LateProfiles() []string {
	if !slices.Contains(d.Late, "acting") {
		return d.Late
	}
	return slice.Filter(d.Late, func(name string) bool { return name == "acting" || name == "envoy" })
}

// Viewed reports whether the decoder reads the resource's message through a view.
func (d *codeData) Viewed() bool { return d.e.viewed(d.Message) }

// View is the type of that view.
func (d *codeData) View() string { return d.place(d.e.viewType(d.Message)) }

// WireTest reports whether the code is that of the test of a wire decoder, which takes updates of any type.
func (d *codeData) WireTest() bool { return d.e.wireTest }

// AddressView is the view of addresses.
func (d *codeData) AddressView() string { return d.e.views.names["envoy.config.core.v3.Address"] }

// Quote is a string literal.
func (d *codeData) Quote(text string) string { return d.place(jen.Lit(text)) }

// template returns the code of a template: source as for Src, and comments in lines of any length.
func (e *emitter) template(name string) []jen.Code {
	data := &codeData{Package: e.pkg, e: e}
	text, err := execute(name+".go.tmpl", data)
	if err != nil {
		panic(err) // a fault of the template
	}
	out := jen.Null()
	for line := range strings.Lines(text) {
		if doc, ok := strings.CutPrefix(line, "// "); ok {
			out.Add(comment(doc)).Line()
			continue
		}
		n := strings.Count(line, "$")
		out.Add(e.Src(line, data.args[:n]...))
		data.args = data.args[n:]
	}
	return []jen.Code{out}
}
