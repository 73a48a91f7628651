package configfile

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The limits of a file.
const (
	// MaxSize is the limit of a file in bytes.
	MaxSize = 64 << 20
	// maxNodes is the limit of values in a document. Aliases count at each use.
	maxNodes = 4_000_000
	// maxDepth is the limit of nested values. Protobuf has a limit of its own.
	maxDepth = 200
)

// A kind is the form of a node.
type kind uint8

const (
	scalar kind = iota
	mapping
	sequence
)

// A node is a value of a YAML or JSON file.
type node struct {
	kind         kind
	line, column int
	text         string // of a scalar: its JSON
	keys         []*node
	values       []*node // of a mapping or sequence
}

// A syntaxError is an error at a position.
type syntaxError struct {
	line, column int
	text         string
}

func (e *syntaxError) Error() string { return e.text }

func (n *node) fail(format string, args ...any) error {
	return &syntaxError{n.line, n.column, fmt.Sprintf(format, args...)}
}

// key returns the text of the i-th key.
func (n *node) key(i int) string { return n.keys[i].str() }

// str returns the text of a string scalar, and the JSON of another one.
func (n *node) str() string {
	if s, err := strconv.Unquote(n.text); err == nil && n.text[0] == '"' {
		return s
	}
	return n.text
}

// get returns the value of the first key that is one of the names.
func (n *node) get(names ...string) *node {
	if n == nil || n.kind != mapping {
		return nil
	}
	for i := range n.keys {
		if slices.Contains(names, n.key(i)) {
			return n.values[i]
		}
	}
	return nil
}

// without returns a copy of a mapping without a value.
func (n *node) without(value *node) *node {
	out := *n
	out.keys, out.values = nil, nil
	for i, v := range n.values {
		if v != value {
			out.keys, out.values = append(out.keys, n.keys[i]), append(out.values, v)
		}
	}
	return &out
}

// parseYAML returns the documents of a YAML file.
func parseYAML(data io.Reader) ([]*node, error) {
	var docs []*node
	dec := yaml.NewDecoder(data)
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return docs, yamlError(err)
		}
		if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
			continue
		}
		c := converter{left: maxNodes, aliased: make(map[*yaml.Node]aliased)}
		n, err := c.node(doc.Content[0], 0)
		if err != nil {
			return docs, err
		}
		if n.kind == scalar && n.text == "null" { // an empty document
			continue
		}
		docs = append(docs, n)
	}
}

// yamlError returns an error of package yaml with its position.
func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var line, column int
	var load *yaml.LoadError
	switch {
	case errors.As(err, &load):
		line, column = load.Mark.Line, load.Mark.Column
		text = load.Message
	default:
		_, _ = fmt.Sscanf(text, "line %d:", &line)
	}
	return &syntaxError{max(line, 1), max(column, 1), text}
}

// A converter converts the nodes of a YAML document. All aliases of a node share one result.
type converter struct {
	left    int
	aliased map[*yaml.Node]aliased
}

// aliased is the result of an alias, and the number of its values.
type aliased struct {
	node *node
	size int
}

// alias converts the node of an alias, once.
func (c *converter) alias(target *yaml.Node, depth int) (*node, error) {
	if known, ok := c.aliased[target]; ok {
		c.left -= known.size
		return known.node, nil
	}
	before := c.left
	n, err := c.node(target, depth+1)
	if err == nil {
		c.aliased[target] = aliased{n, before - c.left}
	}
	return n, err
}

func (c *converter) node(y *yaml.Node, depth int) (*node, error) {
	n := &node{line: y.Line, column: y.Column}
	c.left--
	if c.left < 0 {
		return nil, n.fail("the document has more than %d values, with aliases counted at each use", maxNodes)
	}
	if depth > maxDepth {
		return nil, n.fail("the values are nested deeper than %d levels", maxDepth)
	}
	switch y.Kind {
	case yaml.AliasNode:
		return c.alias(y.Alias, depth)
	case yaml.MappingNode:
		n.kind = mapping
		return n, c.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.kind = sequence
		for _, item := range y.Content {
			v, err := c.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.values = append(n.values, v)
		}
		return n, nil
	default:
		err := n.scalar(y)
		return n, err
	}
}

func (c *converter) mapping(n *node, y *yaml.Node, depth int) error {
	var merged []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		value, err := c.node(v, depth+1)
		if err != nil {
			return err
		}
		if k.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		key := &node{line: k.Line, column: k.Column, text: quote(k.Value)}
		if k.Kind != yaml.ScalarNode {
			return key.fail("a key must be text")
		}
		n.keys, n.values = append(n.keys, key), append(n.values, value)
	}
	for _, m := range merged {
		if err := n.merge(m); err != nil {
			return err
		}
	}
	return nil
}

// merge adds the keys of another mapping, or of a list of mappings, that n does not have.
func (n *node) merge(other *node) error {
	switch other.kind {
	case sequence:
		for _, m := range other.values {
			if m.kind != mapping {
				return m.fail("a merge key needs a mapping")
			}
			if err := n.merge(m); err != nil {
				return err
			}
		}
		return nil
	case mapping:
		for i, k := range other.keys {
			if n.get(other.key(i)) == nil {
				n.keys, n.values = append(n.keys, k), append(n.values, other.values[i])
			}
		}
		return nil
	default:
		return other.fail("a merge key needs a mapping")
	}
}

// scalar sets the JSON of a YAML scalar.
func (n *node) scalar(y *yaml.Node) error {
	switch y.ShortTag() {
	case "!!null":
		n.text = "null"
		return nil
	case "!!bool":
		var b bool
		err := y.Decode(&b)
		n.text = strconv.FormatBool(b)
		return n.wrap(err)
	case "!!int":
		return n.integer(y)
	case "!!float":
		var f float64
		err := y.Decode(&f)
		n.text = floatJSON(f)
		return n.wrap(err)
	case "!!binary":
		clean := strings.Join(strings.Fields(y.Value), "")
		_, err := base64.StdEncoding.DecodeString(clean)
		n.text = quote(clean)
		return n.wrap(err)
	default:
		n.text = quote(y.Value)
		return nil
	}
}

func (n *node) integer(y *yaml.Node) error {
	var i int64
	if err := y.Decode(&i); err == nil {
		n.text = strconv.FormatInt(i, 10)
		return nil
	}
	var u uint64
	err := y.Decode(&u)
	n.text = strconv.FormatUint(u, 10)
	return n.wrap(err)
}

func (n *node) wrap(err error) error {
	if err == nil {
		return nil
	}
	return n.fail("%s", strings.TrimPrefix(err.Error(), "yaml: "))
}

// floatJSON returns the form of a number that protobuf's JSON has.
func floatJSON(f float64) string {
	switch {
	case f != f:
		return `"NaN"`
	case f > maxFloat:
		return `"Infinity"`
	case f < -maxFloat:
		return `"-Infinity"`
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
