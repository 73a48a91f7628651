package document

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ParseYAML returns the documents of a YAML file, without empty ones. With an error, which is an [*Error],
// it returns those before the error. Merge keys are resolved, and aliases share their nodes.
func ParseYAML(data io.Reader) ([]*Node, error) {
	var docs []*Node
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
		c := converter{left: MaxValues, aliased: make(map[*yaml.Node]aliased)}
		n, err := c.node(doc.Content[0], 0)
		if err != nil {
			return docs, err
		}
		if n.Kind == Scalar && n.Text == "null" { // an empty document
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
	return &Error{max(line, 1), max(column, 1), text}
}

// A converter converts the nodes of a YAML document. All aliases of a node share one result.
type converter struct {
	left    int
	aliased map[*yaml.Node]aliased
}

// aliased is the result of an alias, and the number of its values.
type aliased struct {
	node *Node
	size int
}

// alias converts the node of an alias, once.
func (c *converter) alias(target *yaml.Node, depth int) (*Node, error) {
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

func (c *converter) node(y *yaml.Node, depth int) (*Node, error) {
	n := &Node{Line: y.Line, Column: y.Column}
	c.left--
	if c.left < 0 {
		return nil, n.fail("the document has more than %d values, with aliases counted at each use", MaxValues)
	}
	if depth > MaxDepth {
		return nil, n.fail("the values are nested deeper than %d levels", MaxDepth)
	}
	switch y.Kind {
	case yaml.AliasNode:
		return c.alias(y.Alias, depth)
	case yaml.MappingNode:
		n.Kind = Mapping
		return n, c.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.Kind = Sequence
		for _, item := range y.Content {
			v, err := c.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.Values = append(n.Values, v)
		}
		return n, nil
	default:
		err := n.scalar(y)
		return n, err
	}
}

func (c *converter) mapping(n *Node, y *yaml.Node, depth int) error {
	var merged []*Node
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
		key := &Node{Line: k.Line, Column: k.Column, Text: quote(k.Value)}
		if k.Kind != yaml.ScalarNode {
			return key.fail("a key must be text")
		}
		n.Keys, n.Values = append(n.Keys, key), append(n.Values, value)
	}
	if len(merged) == 0 {
		return nil
	}
	has := make(map[string]bool, len(n.Keys))
	for i := range n.Keys {
		has[n.Key(i)] = true
	}
	for _, m := range merged {
		if err := n.merge(m, has); err != nil {
			return err
		}
	}
	return nil
}

// merge adds the keys of another mapping, or of a list of mappings, that n does not have.
func (n *Node) merge(other *Node, has map[string]bool) error {
	switch other.Kind {
	case Sequence:
		for _, m := range other.Values {
			if m.Kind != Mapping {
				return m.fail("a merge key needs a mapping")
			}
			if err := n.merge(m, has); err != nil {
				return err
			}
		}
		return nil
	case Mapping:
		for i, k := range other.Keys {
			if key := other.Key(i); !has[key] {
				has[key] = true
				n.Keys, n.Values = append(n.Keys, k), append(n.Values, other.Values[i])
			}
		}
		return nil
	default:
		return other.fail("a merge key needs a mapping")
	}
}

// scalar sets the JSON of a YAML scalar.
func (n *Node) scalar(y *yaml.Node) error {
	switch y.ShortTag() {
	case "!!null":
		n.Text = "null"
		return nil
	case "!!bool":
		var b bool
		err := y.Decode(&b)
		n.Text = strconv.FormatBool(b)
		return n.wrap(err)
	case "!!int":
		return n.integer(y)
	case "!!float":
		var f float64
		err := y.Decode(&f)
		n.Text = floatJSON(f)
		return n.wrap(err)
	case "!!binary":
		clean := strings.Join(strings.Fields(y.Value), "")
		_, err := base64.StdEncoding.DecodeString(clean)
		n.Text = quote(clean)
		return n.wrap(err)
	default:
		n.Text = quote(y.Value)
		return nil
	}
}

func (n *Node) integer(y *yaml.Node) error {
	var i int64
	if err := y.Decode(&i); err == nil {
		n.Text = strconv.FormatInt(i, 10)
		return nil
	}
	var u uint64
	err := y.Decode(&u)
	n.Text = strconv.FormatUint(u, 10)
	return n.wrap(err)
}

func (n *Node) wrap(err error) error {
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
