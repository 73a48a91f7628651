package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The limits of a document. A document that exceeds one is an [*Error].
const (
	// MaxValues is the limit of values in a document. Aliases count at each use.
	MaxValues = 4_000_000
	// MaxDepth is the limit of nested values. Protobuf has a limit of its own.
	MaxDepth = 200
)

// A Kind is the form of a [Node].
type Kind uint8

// The kinds of nodes.
const (
	Scalar Kind = iota
	Mapping
	Sequence
)

// A Node is a value of a YAML or JSON file with its position.
type Node struct {
	Kind         Kind
	Line, Column int    // from 1
	Text         string // of a scalar: its JSON
	Keys         []*Node
	Values       []*Node // of a mapping or sequence
}

// An Error is an error at a position.
type Error struct {
	Line, Column int
	Text         string
}

// Error returns the text, without the position.
func (e *Error) Error() string { return e.Text }

// fail returns an error at the position of the node.
func (n *Node) fail(format string, args ...any) error {
	return &Error{n.Line, n.Column, fmt.Sprintf(format, args...)}
}

// Key returns the text of the i-th key.
func (n *Node) Key(i int) string { return n.Keys[i].String() }

// String returns the text of a string scalar, and the JSON of another one.
func (n *Node) String() string {
	if s, err := strconv.Unquote(n.Text); err == nil && n.Text[0] == '"' {
		return s
	}
	return n.Text
}

// Get returns the value of the first key that is one of the names, or nil.
func (n *Node) Get(names ...string) *Node {
	if n == nil || n.Kind != Mapping {
		return nil
	}
	for i := range n.Keys {
		if slices.Contains(names, n.Key(i)) {
			return n.Values[i]
		}
	}
	return nil
}

// Without returns a copy of a mapping without a value.
func (n *Node) Without(value *Node) *Node {
	out := *n
	out.Keys, out.Values = nil, nil
	for i, v := range n.Values {
		if v != value {
			out.Keys, out.Values = append(out.Keys, n.Keys[i]), append(out.Values, v)
		}
	}
	return &out
}

// PathOf returns the path of a value below n, such as "resources[3].name".
func (n *Node) PathOf(value *Node) string {
	path, _ := n.find(value)
	return strings.TrimPrefix(path, ".")
}

func (n *Node) find(value *Node) (path string, ok bool) {
	if n == value {
		return "", true
	}
	for i, v := range n.Values {
		rest, ok := v.find(value)
		if !ok {
			continue
		}
		if n.Kind == Sequence {
			return fmt.Sprintf("[%d]%s", i, rest), true
		}
		return "." + n.Key(i) + rest, true
	}
	return "", false
}
