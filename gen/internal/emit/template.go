package emit

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/dave/jennifer/jen"
)

//go:embed templates
var templates embed.FS

// execute returns the text of the template in a file. others are files with templates that it uses.
func execute(name, others string, funcs template.FuncMap, data any) (string, error) {
	var text strings.Builder
	t := template.Must(template.New(name).Funcs(funcs).ParseFS(templates, "templates/"+name, "templates/"+others))
	if err := t.Execute(&text, data); err != nil {
		return "", fmt.Errorf("emit: %w", err)
	}
	return text.String(), nil
}

// template returns the code of a template: source as for Src, and comments in lines of any length.
func (e *emitter) template(name string) []jen.Code {
	var args []any
	arg := func(c jen.Code) string {
		args = append(args, c)
		return "$"
	}
	text, err := execute(name+".go.tmpl", "*.go.tmpl", template.FuncMap{
		"contract": func() int { return Contract },
		"message":  func() string { return arg(e.ident(e.pkg.Message.GoIdent)) },
		"quote":    func(text string) string { return arg(jen.Lit(text)) },
	}, e.pkg)
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
		out.Add(e.Src(line, args[:n]...))
		args = args[n:]
	}
	return []jen.Code{out}
}
