package descriptor

import (
	"bytes"
	"errors"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// maxSize bounds a descriptor; those that people write have a few kilobytes.
const maxSize = 1 << 20

// Parse reads a descriptor and notes in bag whatever is wrong with it. The
// tree is complete only where nothing was.
func (l Language) Parse(data []byte, bag *diag.Bag) *Descriptor {
	d := new(Descriptor)
	if len(data) > maxSize {
		bag.Add(diag.Pos{}, diag.Syntax, "the descriptor is larger than %d bytes", maxSize)
		return d
	}
	if at, ok := oddBreak(data); ok {
		bag.Add(at, diag.Syntax, "the line ends with an unusual line break")
		return d
	}
	lines := bytes.Split(data, []byte("\n"))
	doc, err := document(data)
	if err != nil {
		at, text := yamlError(err)
		at = clamp(at, lines)
		bag.AddHint(at, diag.Syntax, yamlHint(lines[at.Line-1], text), "%s", text)
		return d
	}
	w := walker{bag: bag, lines: lines, language: l}
	w.mapping(doc.Content[0], l[0], reflect.ValueOf(d).Elem())
	return d
}

// ParseRule reads a rule that is derived from something else. It is at the given position.
func (l Language) ParseRule(text string, at diag.Pos, bag *diag.Bag) (r Rule) {
	faults := new(diag.Bag)
	doc, err := document([]byte(text))
	if err == nil {
		w := walker{bag: faults, at: at, language: l}
		w.mapping(doc.Content[0], l.mapping("rule"), reflect.ValueOf(&r).Elem())
	}
	if err != nil || faults.Len() > 0 {
		bag.Add(at, diag.BadValue, "the derived rule %s is not valid: %v %v", text, err, faults.Errors())
	}
	return r
}

// oddBreak finds a line break that YAML knows and most editors do not, so that they would count
// lines differently. It is a single carriage return or a Unicode separator.
func oddBreak(data []byte) (diag.Pos, bool) {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	i := strings.IndexAny(text, "\r\u0085\u2028\u2029")
	if i < 0 {
		return diag.Pos{}, false
	}
	before := text[:i]
	return diag.Pos{Line: strings.Count(before, "\n") + 1, Column: i - strings.LastIndexByte(before, '\n')}, true
}

// document reads the one document that data must be.
func document(data []byte) (*yaml.Node, error) {
	var docs []yaml.Node
	err := yaml.Load(data, &docs, yaml.WithAllDocuments())
	switch {
	case err != nil:
		return nil, err
	case len(docs) > 1:
		return nil, errors.New("the descriptor has more than one YAML document")
	case len(docs) == 0 || docs[0].Kind != yaml.DocumentNode || len(docs[0].Content) != 1:
		return nil, errors.New("the descriptor is empty")
	}
	return &docs[0], nil
}

// yamlError takes position and text from an error of the YAML library.
func yamlError(err error) (diag.Pos, string) {
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		return diag.Pos{Line: e.Mark.Line, Column: e.Mark.Column}, "not YAML: " + e.Message
	}
	return diag.Pos{}, err.Error()
}

// yamlHint suggests the usual cause of an error in a line.
func yamlHint(line []byte, text string) string {
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	has := func(part string) bool { return strings.Contains(text, part) }
	colons := bytes.Count(append(bytes.TrimSpace(line), ' '), []byte(": ")) > 1
	switch {
	case bytes.ContainsRune(indent, '\t'):
		return "indent with spaces, not with tabs"
	case has("expected key"), has("expected '-' indicator"), has("mapping value") && !colons:
		return "indent all keys of a mapping alike, and all elements of a list"
	case has("anchor"), has("alias"), has("tag"), has("cannot start any token"):
		return "put text with special characters in quotes"
	case colons:
		return "put text that contains a colon in quotes"
	}
	return ""
}

// clamp keeps a position inside the file: the library may point behind its end.
func clamp(p diag.Pos, lines [][]byte) diag.Pos {
	p.Line = min(max(p.Line, 1), len(lines))
	p.Column = min(max(p.Column, 1), len(lines[p.Line-1])+1)
	return p
}
