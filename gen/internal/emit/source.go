package emit

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// packages are the import paths of the packages that emitted source may name, beside those of hooks.
var packages = map[string]string{
	"bytes": "bytes", "cmp": "cmp", "context": "context", "iter": "iter", "maps": "maps", "slices": "slices", "strings": "strings",
	"slog": "log/slog", "testing": "testing", "utf8": "unicode/utf8", "proto": "google.golang.org/protobuf/proto",
	"runtime": descriptor.Framework + "runtime",
	"convert": descriptor.Framework + "runtime/convert",
	"wire":    descriptor.Framework + "runtime/wire",
	"publish": "github.com/xdsforge/xdsforge/publish", "plugintest": "github.com/xdsforge/xdsforge/xdstest/plugintest",
}

// Src returns Go source. Each $ in text stands for the next argument: code, a list of
// statements, a number, or a string with source. Imported packages are named as in
// resource.Path. Package jennifer gives them their names in the file.
func (e *emitter) Src(text string, args ...any) *jen.Statement {
	out := jen.Null()
	var source strings.Builder
	code := func(c jen.Code) {
		if source.Len() > 0 {
			out.Op(source.String())
			source.Reset()
		}
		out.Add(c)
	}
	for i := 0; i < len(text); {
		end := i + max(wordLen(text[i:]), 1)
		path := cmp.Or(packages[text[i:end]], model.HookPackages[text[i:end]])
		switch {
		case text[i] == '$':
			switch arg := args[0].(type) {
			case string, int:
				fmt.Fprint(&source, arg)
			case []jen.Code:
				code(jen.Custom(jen.Options{Separator: "\n"}, arg...))
			default:
				code(arg.(jen.Code))
			}
			args = args[1:]
		case path != "" && strings.HasPrefix(text[end:], ".") && (i == 0 || text[i-1] != '.'):
			name := text[end+1:]
			name = name[:wordLen(name)]
			code(e.qual(path, name))
			end += 1 + len(name)
		default:
			source.WriteString(text[i:end])
		}
		i = end
	}
	code(jen.Null())
	return out
}

// wordLen is the length of the identifier at the start of text.
func wordLen(text string) int {
	n := 0
	for n < len(text) && (text[n] == '_' || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z' || n > 0 && text[n] >= '0' && text[n] <= '9') {
		n++
	}
	return n
}

// lines are elements of a composite literal, one a line.
func lines(elements ...jen.Code) jen.Code {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, elements...)
}

// And joins conditions by &&.
func (e *emitter) And(conds ...jen.Code) jen.Code {
	return jen.Custom(jen.Options{Separator: "&&"}, conds...)
}

// Or joins conditions by ||, in parentheses if there are several.
func (e *emitter) Or(conds ...jen.Code) jen.Code {
	if len(conds) == 1 {
		return conds[0]
	}
	return e.Src("($)", jen.Custom(jen.Options{Separator: "||"}, conds...))
}

// If writes an if statement. The simple statement init may be nil.
func (e *emitter) If(init, cond jen.Code, body ...jen.Code) jen.Code {
	if init == nil {
		return e.Src("if $ {\n$\n}", cond, body)
	}
	return e.Src("if $; $ {\n$\n}", init, cond, body)
}

// When puts statements under conditions, if there are any.
func (e *emitter) When(conds, body []jen.Code) []jen.Code {
	if len(conds) == 0 || len(body) == 0 {
		return body
	}
	return []jen.Code{e.If(nil, e.And(conds...), body...)}
}

// comment makes a doc comment of text, wrapped.
func comment(text string) jen.Code {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n")
	lines := slice.FlatMap(paragraphs, func(paragraph string) []string { return wrap(paragraph, 88) })
	comments := slice.Map(lines, func(line string) string { return strings.TrimRight("// "+line, " ") })
	return jen.Op(strings.Join(comments, "\n"))
}

// wrap returns the words of text in lines of a width.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// documented puts a doc comment above a declaration.
func (e *emitter) documented(doc, decl string, args ...any) jen.Code {
	return jen.Add(comment(doc)).Line().Add(e.Src(decl, args...))
}
