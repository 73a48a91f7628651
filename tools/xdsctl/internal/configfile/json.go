package configfile

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

// parseJSON returns the documents of a JSON file. encoding/json reads the tokens, because YAML reads
// the escapes of some JSON texts differently.
func parseJSON(data []byte) ([]*node, error) {
	p := jsonParser{dec: json.NewDecoder(bytes.NewReader(data)), data: data, left: maxNodes}
	p.dec.UseNumber()
	for i, c := range data {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	var docs []*node
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
}

// at returns an empty node at an offset.
func (p *jsonParser) at(offset int) *node {
	line := sort.SearchInts(p.lines, offset+1)
	start := 0
	if line > 0 {
		start = p.lines[line-1]
	}
	return &node{line: line + 1, column: utf8.RuneCount(p.data[start:min(offset, len(p.data))]) + 1}
}

// next returns the position of the next token.
func (p *jsonParser) next() *node {
	offset := int(p.dec.InputOffset())
	for offset < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[offset]) >= 0 {
		offset++
	}
	return p.at(offset)
}

func (p *jsonParser) value(depth int) (*node, error) {
	n := p.next()
	p.left--
	if p.left < 0 {
		return nil, n.fail("the document has more than %d values", maxNodes)
	}
	if depth > maxDepth {
		return nil, n.fail("the values are nested deeper than %d levels", maxDepth)
	}
	token, err := p.dec.Token()
	if err != nil {
		return nil, p.err(err, depth)
	}
	switch t := token.(type) {
	case json.Delim:
		return n, p.container(n, t, depth)
	case string:
		n.text = quote(t)
	case json.Number:
		n.text = t.String()
	case bool:
		n.text = map[bool]string{true: "true", false: "false"}[t]
	default:
		n.text = "null"
	}
	return n, nil
}

func (p *jsonParser) container(n *node, open json.Delim, depth int) error {
	n.kind = sequence
	if open == '{' {
		n.kind = mapping
	}
	for p.dec.More() {
		if n.kind == mapping {
			key := p.next()
			token, err := p.dec.Token()
			if err != nil {
				return p.err(err, depth+1)
			}
			text, _ := token.(string) // encoding/json accepts no other key
			key.text = quote(text)
			n.keys = append(n.keys, key)
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.values = append(n.values, v)
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
	before := max(int(err.Offset)-1, 0)
	if before < len(p.data) && strings.HasPrefix(err.Error(), "invalid character "+strconv.QuoteRune(rune(p.data[before]))) {
		return before
	}
	return int(err.Offset)
}
