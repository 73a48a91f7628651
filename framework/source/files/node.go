package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A node is a value of a YAML or JSON file with its position.
type node struct {
	at      position
	scalar  string // in JSON; "" for a map or a list
	members []nodeMember
	items   []*node
	list    bool
}

type nodeMember struct {
	key   string
	at    position
	value *node
}

// A position is a line and a column, from 1. The zero position is unknown.
type position struct{ line, column int }

// field returns the value of the first member with the key, or nil.
func (n *node) field(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// text returns the string in a scalar, or "".
func (n *node) text() (s string) {
	if n != nil {
		_ = json.Unmarshal([]byte(n.scalar), &s) // "" for other values
	}
	return s
}

// Bounds of a document, against small files that describe much.
const (
	maxNodes   = 20_000_000
	maxNesting = 1_000
)

// An positionError is an error with a position in a file.
type positionError struct {
	at   position
	text string
}

// Error implements error.
func (e *positionError) Error() string { return e.text }

func failure(at position, format string, args ...any) error {
	return &positionError{at, fmt.Sprintf(format, args...)}
}

// readYAML returns the documents of a YAML file.
func readYAML(data []byte) (docs []*node, err error) {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	count := 0
	for {
		var doc yaml.Node
		if err := loader.Load(&doc); err == io.EOF { //nolint:errorlint // as documented
			return docs, nil
		} else if err != nil {
			return nil, yamlError(err)
		}
		if doc.Kind == 0 {
			continue
		}
		n, err := fromYAML(&doc, &count, 0)
		if err != nil {
			return nil, err
		}
		docs = append(docs, n)
	}
}

// yamlError takes the position out of an error of the parser.
func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if _, rest, found := strings.Cut(text, "line "); found {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(rest)
		}
		if line, e := strconv.Atoi(rest[:end]); e == nil {
			return failure(position{line, 1}, "%s", text)
		}
	}
	return failure(position{1, 1}, "%s", text)
}

func fromYAML(y *yaml.Node, count *int, depth int) (*node, error) {
	n := &node{at: position{y.Line, y.Column}}
	*count++
	if *count > maxNodes || depth > maxNesting {
		return nil, failure(n.at, "the document is too large or nested too deeply")
	}
	switch y.Kind { //nolint:exhaustive // the others are scalars
	case yaml.DocumentNode:
		if len(y.Content) != 1 {
			return nil, failure(n.at, "the document must have one value")
		}
		return fromYAML(y.Content[0], count, depth)
	case yaml.AliasNode:
		return fromYAML(y.Alias, count, depth+1)
	case yaml.SequenceNode:
		n.list = true
		for _, item := range y.Content {
			v, err := fromYAML(item, count, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
		}
		return n, nil
	case yaml.MappingNode:
		for i := 0; i+1 < len(y.Content); i += 2 {
			k := y.Content[i]
			at := position{k.Line, k.Column}
			if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
				return nil, failure(at, "key; must be a text, and not a merge key")
			}
			v, err := fromYAML(y.Content[i+1], count, depth+1)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, nodeMember{k.Value, at, v})
		}
		return n, nil
	}
	var err error
	n.scalar, err = yamlScalar(y)
	return n, err
}

// yamlScalar returns a scalar in JSON.
func yamlScalar(y *yaml.Node) (string, error) {
	switch tag := y.ShortTag(); tag {
	case "!!null":
		return "null", nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := y.Decode(&v); err != nil {
			return "", failure(position{y.Line, y.Column}, "value = %q; must be of type %s", y.Value, tag)
		}
		if b, err := json.Marshal(v); err == nil {
			return string(b), nil
		}
	}
	b, err := json.Marshal(y.Value)
	return string(b), err
}

// readJSON returns the value of a JSON file.
func readJSON(data []byte) ([]*node, error) {
	r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.decoder.UseNumber()
	n, err := r.value(0)
	if err == nil {
		at := r.position()
		if _, e := r.decoder.Token(); e != io.EOF {
			err = failure(at, "the file must have one value")
		}
	}
	if err != nil {
		return nil, err
	}
	return []*node{n}, nil
}

// A jsonReader reads values with their positions.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	at      int // up to which lines are counted
	line    int
	start   int // of the line
}

// position returns that of the next token.
func (r *jsonReader) position() position {
	end := int(r.decoder.InputOffset())
	for end < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[end]) >= 0 {
		end++
	}
	for ; r.at < end; r.at++ {
		if r.data[r.at] == '\n' {
			r.line, r.start = r.line+1, r.at+1
		}
	}
	return position{r.line, end - r.start + 1}
}

func (r *jsonReader) value(depth int) (*node, error) {
	n := &node{at: r.position()}
	if depth > maxNesting {
		return nil, failure(n.at, "the document is nested too deeply")
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, failure(n.at, "must be JSON: %v", err)
	}
	delim, ok := token.(json.Delim)
	if !ok {
		b, err := json.Marshal(token)
		n.scalar = string(b)
		return n, err
	}
	n.list = delim == '['
	for r.decoder.More() {
		m := nodeMember{at: r.position()}
		if !n.list {
			key, err := r.decoder.Token()
			if err != nil {
				return nil, failure(m.at, "must be JSON: %v", err)
			}
			m.key, _ = key.(string)
		}
		if m.value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		if n.list {
			n.items = append(n.items, m.value)
		} else {
			n.members = append(n.members, m)
		}
	}
	at := r.position()
	if _, err := r.decoder.Token(); err != nil {
		return nil, failure(at, "must be JSON: %v", err)
	}
	return n, nil
}
