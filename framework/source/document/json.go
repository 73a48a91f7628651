package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

const maxFloat = math.MaxFloat64

// quote returns text as JSON. Text that is not UTF-8 stays as it is, so that protojson rejects it.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // text always encodes
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// ParseJSON returns the values of a JSON file. With an error, which is an [*Error], it returns those before the
// error. encoding/json reads the tokens, because YAML reads
// the escapes of some JSON texts differently.
func ParseJSON(data []byte) ([]*Node, error) {
	p := jsonParser{dec: json.NewDecoder(bytes.NewReader(data)), data: data, left: MaxValues}
	p.dec.UseNumber()
	for i, c := range data {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	var docs []*Node
	for {
		n, err := p.value(0)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return docs, err
		}
		docs = append(docs, n)
	}
}

type jsonParser struct {
	dec   *json.Decoder
	data  []byte
	lines []int // the offsets of all lines but the first
	left  int

	offset, column int // of the last node
}

// at returns an empty node at an offset. Offsets mostly grow, so that the runes of a long line are counted once.
func (p *jsonParser) at(offset int) *Node {
	line := sort.SearchInts(p.lines, offset+1)
	start, column := 0, 0
	if line > 0 {
		start = p.lines[line-1]
	}
	if start <= p.offset && p.offset <= offset {
		start, column = p.offset, p.column
	}
	offset = min(offset, len(p.data))
	p.offset, p.column = offset, column+utf8.RuneCount(p.data[start:offset])
	return &Node{Line: line + 1, Column: p.column + 1}
}

// next returns the position of the next token.
func (p *jsonParser) next() *Node {
	return p.at(p.skip(int(p.dec.InputOffset())))
}

// skip returns the offset of the first byte that is neither space nor punctuation between values.
func (p *jsonParser) skip(offset int) int {
	for offset < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[offset]) >= 0 {
		offset++
	}
	return offset
}

func (p *jsonParser) value(depth int) (*Node, error) {
	n := p.next()
	p.left--
	if p.left < 0 {
		return nil, n.fail("the document has more than %d values", MaxValues)
	}
	if depth > MaxDepth {
		return nil, n.fail("the values are nested deeper than %d levels", MaxDepth)
	}
	token, err := p.dec.Token()
	if err != nil {
		return nil, p.err(err, depth)
	}
	switch t := token.(type) {
	case json.Delim:
		return n, p.container(n, t, depth)
	case string:
		n.Text = quote(t)
	case json.Number:
		n.Text = t.String()
	case bool:
		n.Text = map[bool]string{true: "true", false: "false"}[t]
	default:
		n.Text = "null"
	}
	return n, nil
}

func (p *jsonParser) container(n *Node, open json.Delim, depth int) error {
	n.Kind = Sequence
	if open == '{' {
		n.Kind = Mapping
	}
	for p.dec.More() {
		if n.Kind == Mapping {
			key := p.next()
			token, err := p.dec.Token()
			if err != nil {
				return p.err(err, depth+1)
			}
			text, _ := token.(string) // encoding/json accepts no other key
			key.Text = quote(text)
			n.Keys = append(n.Keys, key)
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Values = append(n.Values, v)
	}
	if _, err := p.dec.Token(); err != nil {
		return p.err(err, depth+1)
	}
	return nil
}

// err returns an error with its position. The end of the file is io.EOF between documents.
func (p *jsonParser) err(err error, depth int) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF) && depth == 0:
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p.at(len(p.data)).fail("unexpected end of the file")
	case errors.As(err, &syntax):
		return p.at(p.culprit(syntax)).fail("%s", syntax.Error())
	}
	return p.next().fail("%s", err.Error())
}

// culprit returns the offset of the character that an error names. encoding/json returns the offset
// after it within a value, and its own offset between values.
func (p *jsonParser) culprit(err *json.SyntaxError) int {
	isCulprit := func(offset int) bool {
		return offset < len(p.data) && strings.HasPrefix(err.Error(), "invalid character "+strconv.QuoteRune(rune(p.data[offset])))
	}
	if before := max(int(err.Offset)-1, 0); isCulprit(before) {
		return before
	}
	if next := p.skip(int(err.Offset)); isCulprit(next) {
		return next
	}
	return int(err.Offset)
}
