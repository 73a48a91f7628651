package configfile

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source/document"
)

// maxProblems is the limit of syntax errors of one message. protojson stops at each of them, and the
// message is read again without the value.
const maxProblems = 20

// An emitter writes a node as JSON with one token a line, so that the line of an error of protojson
// leads to the node.
type emitter struct {
	types   *Types // nil: no message is unknown
	out     strings.Builder
	lines   []token
	unknown []*node // the @type values of unknown messages
	skip    map[*node]bool
}

// A token is a line of an emitter.
type token struct {
	at    *node // its position
	value *node // the value that it belongs to, or that its key has
}

func (e *emitter) line(at, value *node, text string) {
	e.out.WriteString(text)
	e.out.WriteByte('\n')
	e.lines = append(e.lines, token{at, value})
}

func (e *emitter) node(n *node) {
	switch n.Kind {
	case document.Mapping:
		e.line(n, n, "{")
		e.fields(n)
		e.line(n, n, "}")
	case document.Sequence:
		e.line(n, n, "[")
		first := true
		for _, v := range n.Values {
			if e.skip[v] {
				continue
			}
			if !first {
				e.line(v, v, ",")
			}
			first = false
			e.node(v)
		}
		e.line(n, n, "]")
	default:
		e.line(n, n, n.Text)
	}
}

// fields writes the fields of a mapping. Of an unknown message, it writes only the type.
func (e *emitter) fields(n *node) {
	typ := n.Get("@type")
	only := typ != nil && typ.Kind == document.Scalar && e.isUnknown(typ)
	first := true
	for i, k := range n.Keys {
		v := n.Values[i]
		if e.skip[v] || only && v != typ {
			continue
		}
		if !first {
			e.line(k, v, ",")
		}
		first = false
		e.line(k, v, k.Text+":")
		e.node(v)
	}
}

func (e *emitter) isUnknown(typ *node) bool {
	if e.types == nil {
		return false
	}
	if _, err := e.types.FindMessageByURL(typ.String()); err == nil {
		return false
	}
	e.unknown = append(e.unknown, typ)
	return true
}

var errorLine = regexp.MustCompile(`^proto:[\s\x{a0}]*(?:syntax error )?\(line (\d+):\d+\):\s*`)

// unmarshal reads a message from a node. It returns the problems of all fields, and the message
// without them.
func (t *Types) unmarshal(n *node, m proto.Message) (problems []Problem, unknown []*node) {
	skip := make(map[*node]bool)
	for {
		e := emitter{types: t, skip: skip}
		e.node(n)
		err := protojson.UnmarshalOptions{Resolver: withUnknown{t}}.Unmarshal([]byte(e.out.String()), m)
		if err == nil {
			return problems, e.unknown
		}
		text, at := e.locate(n, err)
		problems = append(problems, Problem{Line: at.at.Line, Column: at.at.Column, Path: n.PathOf(at.value), Rule: text})
		if at.value == n || skip[at.value] || len(problems) == maxProblems {
			return problems, e.unknown
		}
		skip[at.value] = true
		proto.Reset(m)
	}
}

// locate returns the text of an error of protojson, and its token.
func (e *emitter) locate(n *node, err error) (string, token) {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	at := token{n, n}
	if match := errorLine.FindStringSubmatchIndex(text); match != nil {
		if line, err := strconv.Atoi(text[match[2]:match[3]]); err == nil && line <= len(e.lines) {
			at = e.lines[line-1]
		}
		text = text[match[1]:]
	}
	return strings.TrimPrefix(text, "proto: "), at
}

// syntax returns a problem for an error of a parser.
func syntax(err error) Problem {
	if at, ok := errors.AsType[*document.Error](err); ok {
		return Problem{Line: at.Line, Column: at.Column, Rule: at.Text}
	}
	return Problem{Rule: err.Error()}
}
