package files

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/framework/source/document"
)

// A node is a value of a YAML or JSON file with its position.
type node = document.Node

// A position is a line and a column, from 1. The zero position is unknown.
type position struct{ line, column int }

func at(n *node) position { return position{n.Line, n.Column} }

// textOf returns the string in a scalar, or "" for other values and for nil.
func textOf(n *node) string {
	if n == nil || n.Kind != document.Scalar || !strings.HasPrefix(n.Text, `"`) {
		return ""
	}
	return n.String()
}

// isNull reports whether the node is null.
func isNull(n *node) bool { return n.Kind == document.Scalar && n.Text == "null" }

func failure(at position, format string, args ...any) error {
	return &document.Error{Line: at.line, Column: at.column, Text: fmt.Sprintf(format, args...)}
}

// readYAML returns the documents of a YAML file.
func readYAML(data []byte) ([]*node, error) { return document.ParseYAML(bytes.NewReader(data)) }

// readJSON returns the value of a JSON file.
func readJSON(data []byte) ([]*node, error) {
	docs, err := document.ParseJSON(data)
	if err == nil && len(docs) > 1 {
		docs, err = docs[:1], failure(at(docs[1]), "the file must have one value")
	}
	return docs, err
}
