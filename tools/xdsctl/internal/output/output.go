// Package output prints results as tables, JSON or YAML.
//
// Text in a table may come from a control plane. The package escapes every character of it that is
// not printable, so that it cannot change the terminal.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// A Format is a form of output.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// A Printer prints results.
type Printer struct {
	W      io.Writer
	Format Format
	Color  bool
	// Terminal is set if W is a terminal.
	Terminal bool
	// Height is that of the terminal in lines. 0 means unlimited.
	Height int
	// Width is that of the terminal in characters. 0 means unlimited.
	Width int
}

// Print prints a value as JSON or YAML, or calls table.
func (p *Printer) Print(v any, table func()) error {
	switch p.Format {
	case JSON:
		text, err := marshal(v)
		if err == nil {
			_, err = p.W.Write(text)
		}
		return err
	case YAML:
		text, err := ToYAML(v)
		if err == nil {
			_, err = io.WriteString(p.W, text)
		}
		return err
	default:
		table()
		return nil
	}
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// ToYAML returns the YAML of a value's JSON, with the fields in the same order.
func ToYAML(v any) (string, error) {
	text, err := marshal(v)
	if err != nil {
		return "", err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return "", err
	}
	block(&doc)
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return "", err
	}
	return b.String(), e.Close()
}

// block sets the block style of a node and of those below it. Empty ones keep the flow style.
func block(n *yaml.Node) {
	if len(n.Content) > 0 || n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, c := range n.Content {
		block(c)
	}
}

// A Style is the meaning of a colour.
type Style string

// The styles. Their values are the parameters of ANSI sequences.
const (
	Plain  Style = ""
	Good   Style = "32"
	Bad    Style = "31"
	Warn   Style = "33"
	Dim    Style = "2"
	Header Style = "1"
)

// Paint returns escaped text in a style.
func (p *Printer) Paint(s Style, text string) string {
	text = Escape(text)
	if !p.Color || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Println prints a line in a style.
func (p *Printer) Println(s Style, format string, args ...any) {
	fmt.Fprintln(p.W, p.Paint(s, fmt.Sprintf(format, args...)))
}

// Escape escapes every character that is not printable, as in a Go string literal.
func Escape(s string) string {
	plain := true
	for _, r := range s {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		part := s[i : i+size]
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			quoted := strconv.Quote(part)
			part = quoted[1 : len(quoted)-1]
		}
		b.WriteString(part)
		i += size
	}
	return b.String()
}
