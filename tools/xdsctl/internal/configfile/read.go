package configfile

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/source/document"
)

// MaxSize is the limit of a file in bytes.
const MaxSize = 64 << 20

// A node is a value of a file.
type node = document.Node

// A Problem is an error at a position. Line and Column are 0 if the file has no positions.
type Problem struct {
	Line, Column int
	Path         string
	Value        string
	Rule         string
	Warning      bool
}

// An Item is a resource or a bootstrap of a file.
type Item struct {
	// Resource is the resource. Nil if it cannot be read, or for a bootstrap.
	Resource *anypb.Any
	// Message is the full name of the message. Empty if it is not known.
	Message string
	// Name and Version are those of the wrapper or the response. Empty if there is none.
	Name, Version string
	// Bootstrap is the JSON of a bootstrap.
	Bootstrap []byte
	// Path is the position of the resource in the document, such as "resources[3]".
	Path string
	// Problems are syntax errors, and warnings about unknown messages.
	Problems []Problem

	node *node
}

// Position returns the line and column of a field path of the resource; 0 without positions.
func (i *Item) Position(path string) (line, column int) {
	if i.node == nil {
		return 0, 0
	}
	n := i.node.At(path)
	return n.Line, n.Column
}

// PositionOf returns the line and column of the first value with this text.
func (i *Item) PositionOf(text string) (line, column int) {
	if i.node == nil {
		return 0, 0
	}
	if n := i.node.Holding(text); n != nil {
		return n.Line, n.Column
	}
	return i.node.Line, i.node.Column
}

// A Format is a syntax of files.
type Format string

// The formats. Auto takes the format by the name of the file.
const (
	Auto   Format = ""
	YAML   Format = "yaml"
	JSON   Format = "json"
	Text   Format = "text"
	Binary Format = "binary"
)

// Formats are the names of the formats.
func Formats() []Format { return []Format{YAML, JSON, Text, Binary} }

// formatOf returns the format of a file. YAML is the default.
func formatOf(path string) Format {
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case ext == ".json":
		return JSON
	case slices.Contains([]string{".txtpb", ".textproto", ".textpb", ".pbtxt", ".prototxt", ".pb_text"}, ext):
		return Text
	case slices.Contains([]string{".pb", ".binpb", ".bin"}, ext):
		return Binary
	}
	return YAML
}

// Known reports whether the name of a file has the extension of a format.
func Known(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml" || formatOf(path) != YAML
}

// A Reader reads files.
type Reader struct {
	Types  *Types
	Format Format
	// Message is the full name of the message of a document that does not say it.
	Message string
	// Stdin is the content of the file "-".
	Stdin io.Reader
}

// ReadFile returns the contents of a file. An error of the system is returned as err, and all others
// as problems of items.
func (r Reader) ReadFile(path string) ([]Item, error) {
	data, err := r.load(path)
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: size = more than %d bytes; must be at most that", path, MaxSize)
	}
	format := r.Format
	if format == Auto {
		format = formatOf(path)
	}
	if format == Text || format == Binary {
		return r.message(data, format), nil
	}
	var docs []*node
	if format == JSON {
		docs, err = document.ParseJSON(data)
	} else {
		docs, err = document.ParseYAML(bytes.NewReader(data))
	}
	var items []Item
	for _, doc := range docs {
		items = append(items, r.document(doc)...)
	}
	if err != nil {
		items = append(items, Item{Problems: []Problem{syntax(err)}})
	}
	return items, nil
}

func (r Reader) load(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(r.Stdin, MaxSize+1))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// message reads a file in protobuf's text or binary form.
func (r Reader) message(data []byte, format Format) []Item {
	name := r.Message
	if name == "" {
		name = headerMessage(data, format)
	}
	typ, err := r.Types.FindMessageByURL(name)
	if err != nil {
		return []Item{{Problems: []Problem{{Rule: fmt.Sprintf("unknown message %q; give its descriptor set by --descriptor-set", name)}}}}
	}
	m := typ.New().Interface()
	if format == Text {
		err = prototext.UnmarshalOptions{Resolver: withUnknown{r.Types}}.Unmarshal(data, m)
	} else {
		err = proto.Unmarshal(data, m)
	}
	if err != nil {
		return []Item{{Problems: []Problem{textProblem(err, name)}}}
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return []Item{{Problems: []Problem{{Rule: err.Error()}}}}
	}
	return unwrap(&anypb.Any{TypeUrl: urlPrefix + name, Value: body}, 0)
}

// headerMessage returns the message that the comment "# proto-message:" of a text file names. The
// default is a DiscoveryResponse.
func headerMessage(data []byte, format Format) string {
	for line := range strings.Lines(string(data[:min(len(data), 4096)])) {
		rest, ok := strings.CutPrefix(line, "# proto-message:")
		if ok && format == Text {
			return strings.TrimSpace(rest)
		}
	}
	return responseName
}

// textProblem returns the problem of a file in protobuf's text or binary form.
func textProblem(err error, name string) Problem {
	p := Problem{Rule: strings.ReplaceAll(err.Error(), "\u00a0", " ")}
	if match := errorAt.FindStringSubmatchIndex(p.Rule); match != nil {
		_, _ = fmt.Sscanf(p.Rule[match[2]:match[1]], "(line %d:%d)", &p.Line, &p.Column)
		p.Rule = strings.TrimPrefix(p.Rule[match[1]:], ": ")
	}
	p.Rule = "not a " + name + ": " + strings.TrimPrefix(p.Rule, "proto: ")
	return p
}

// OwnName returns the name in the message, as the file has it; "" if there is none.
func (i *Item) OwnName() string {
	if n := i.node.Get("name", "cluster_name", "clusterName"); n != nil && n.Kind == document.Scalar {
		return n.String()
	}
	return ""
}
