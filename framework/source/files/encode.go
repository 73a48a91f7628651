package files

import (
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source/document"
)

// An encoder writes a node as JSON with one key or value on each line, so that a line in an error of
// package protojson leads to the position in the file.
type encoder struct {
	json  []byte
	lines []position // of each line
}

// encode writes a node.
func (e *encoder) encode(n *node) {
	e.newLine(at(n))
	switch n.Kind {
	case document.Sequence:
		e.json = append(e.json, '[')
		for i, item := range n.Values {
			if i > 0 {
				e.json = append(e.json, ',')
			}
			e.encode(item)
		}
		e.json = append(e.json, ']')
	case document.Mapping:
		e.json = append(e.json, '{')
		for i, key := range n.Keys {
			if i > 0 {
				e.json = append(e.json, ',')
			}
			e.newLine(at(key))
			e.json = append(append(e.json, key.Text...), ':')
			e.encode(n.Values[i])
		}
		e.json = append(e.json, '}')
	default:
		e.json = append(e.json, n.Text...)
	}
}

func (e *encoder) newLine(at position) {
	if len(e.json) > 0 {
		e.json = append(e.json, '\n')
	}
	e.lines = append(e.lines, at)
}

// unmarshal reads a message from a node.
func unmarshal(n *node, m proto.Message) error {
	var e encoder
	e.encode(n)
	err := protojson.Unmarshal(e.json, m)
	if err == nil {
		return nil
	}
	line, _, text := splitError(err)
	if line > 0 && line <= len(e.lines) {
		return failure(e.lines[line-1], "%s", text)
	}
	return failure(at(n), "%s", text)
}

// lineInError finds the position in the errors of packages protojson and prototext.
func lineInError() *regexp.Regexp { return regexp.MustCompile(`\(line (\d+):(\d+)\):?`) }

// splitError returns the position in an error of packages protojson and prototext, and the text
// after it.
func splitError(err error) (line, column int, text string) {
	text = err.Error()
	m := lineInError().FindStringSubmatchIndex(text)
	if m == nil {
		return 0, 0, strings.TrimLeft(strings.TrimPrefix(text, "proto:"), " \u00a0")
	}
	line, _ = strconv.Atoi(text[m[2]:m[3]])
	column, _ = strconv.Atoi(text[m[4]:m[5]])
	return line, column, strings.TrimSpace(text[m[1]:])
}

// find returns the position of a path such as "endpoints[3].health_status", or of the deepest part of
// it that the node has. Keys may be in the lower camel case of JSON.
func find(n *node, path string) position {
	where := at(n)
	for path != "" {
		var part string
		if i := strings.IndexAny(path, ".["); i == 0 && path[0] == '[' {
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return where
			}
			part, path = path[1:end], strings.TrimPrefix(path[end+1:], ".")
			i, err := strconv.Atoi(part)
			if err != nil || n.Kind != document.Sequence || i < 0 || i >= len(n.Values) {
				if n = n.Get(strings.Trim(part, `"`)); n == nil {
					return where
				}
			} else {
				n = n.Values[i]
			}
			where = at(n)
			continue
		} else if i < 0 {
			part, path = path, ""
		} else {
			part, path = path[:i], strings.TrimPrefix(path[i:], ".")
		}
		next := (*node)(nil)
		for i, key := range n.Keys {
			if k := key.String(); k == part || k == camel(part) {
				next, where = n.Values[i], at(key)
			}
		}
		if next == nil {
			return where
		}
		n = next
	}
	return where
}

// camel returns the JSON name of a field.
func camel(name string) string {
	var b strings.Builder
	upper := false
	for _, r := range name {
		switch {
		case r == '_':
			upper = true
		case upper:
			b.WriteString(strings.ToUpper(string(r)))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
