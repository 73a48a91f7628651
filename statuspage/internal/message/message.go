// Package message renders encoded messages as lines of text that people read and compare. Each line has
// the path of its field, as the errors of validation have it. Sensitive fields are redacted.
package message

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/internal/redact"
)

// The limits of the output.
const (
	maxLines   = 5000
	maxNesting = 64 // of messages; redaction follows 32 messages in an Any
)

// A Line is one line of a message.
type Line struct {
	// Path is the path of the field, such as "endpoints[3].lb_endpoints[0]".
	Path string `json:"path,omitzero"`
	// Depth is the number of messages around the field.
	Depth int `json:"depth"`
	// Text is printable and clipped.
	Text string `json:"text"`
}

// Lines renders an encoded message of a type, such as "envoy.config.cluster.v3.Cluster". For a type that
// the program does not link, the only line is the size. An unreadable message has a line with the reason.
func Lines(fullName string, encoded []byte) []Line {
	p := &printer{}
	a := redact.Redactor{}.Resource(&anypb.Any{TypeUrl: "type.googleapis.com/" + fullName, Value: encoded})
	t, err := protoregistry.GlobalTypes.FindMessageByURL(a.GetTypeUrl())
	if err != nil {
		p.line("", 0, fmt.Sprintf("# %d bytes of %s, which this program does not link", len(encoded), fullName))
		return p.lines
	}
	m := t.New()
	if err := proto.Unmarshal(a.GetValue(), m.Interface()); err != nil {
		p.line("", 0, fmt.Sprintf("# %d bytes that are no %s: %v", len(encoded), fullName, err))
		return p.lines
	}
	p.message(m, "", 0)
	return p.lines
}

// A printer collects lines.
type printer struct{ lines []Line }

// full reports whether the limit is reached. Then the last line says so.
func (p *printer) full() bool {
	if len(p.lines) == maxLines {
		p.lines = append(p.lines, Line{Text: fmt.Sprintf("# the limit of %d lines is reached", maxLines)})
	}
	return len(p.lines) > maxLines
}

// line adds a line if there is room.
func (p *printer) line(path string, depth int, text string) {
	if !p.full() {
		p.lines = append(p.lines, Line{Path: printable.Text(path, printable.Quoted), Depth: depth, Text: printable.Text(text, printable.Quoted)})
	}
}
