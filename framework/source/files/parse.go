package files

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/document"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

const (
	urlPrefix   = "type.googleapis.com/"
	wrapperURL  = "type.googleapis.com/envoy.service.discovery.v3.Resource"
	responseURL = "type.googleapis.com/envoy.service.discovery.v3.DiscoveryResponse"
)

// A format reads the resources of a file.
type format func(p *parser, data []byte) error

// formatOf returns the format of a file, or nil.
func formatOf(name string) format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml":
		return func(p *parser, data []byte) error { return p.documents(readYAML(data)) }
	case ".json":
		return func(p *parser, data []byte) error { return p.documents(readJSON(data)) }
	case ".textproto", ".txtpb":
		return (*parser).text
	case ".pb":
		return (*parser).binary
	}
	return nil
}

// A parser reads one file. It goes on after an invalid resource, to find all errors.
type parser struct {
	dir       *Dir
	name      string
	resources []source.Resource
	broken    map[source.Key]string // errors of resources by their names, as far as these are known
	key       source.Key            // of the resource that is read; the zero value outside of one
	unknown   bool                  // an error is not about a resource with a known name
	errs      []error
	more      int // errors that are not kept
}

// maxErrors is the limit of the errors of a file that are kept.
const maxErrors = 100

// parse reads the resources of a file, and the errors of invalid resources by their names. It returns all errors with their
// positions.
func (d *Dir) parse(f *file, name string, data []byte) error {
	p := &parser{dir: d, name: name, broken: make(map[source.Key]string)}
	if err := formatOf(name)(p, data); err != nil {
		p.fail(position{}, err)
	}
	if p.more > 0 {
		p.errs = append(p.errs, fmt.Errorf("%s: and %d more errors", name, p.more))
	}
	f.resources, f.broken, f.unknown = p.resources, p.broken, p.unknown
	return errors.Join(p.errs...)
}

// fail records an error. An error with a position of its own keeps it.
func (p *parser) fail(where position, err error) {
	if positioned, ok := errors.AsType[*document.Error](err); ok {
		where = position{positioned.Line, positioned.Column}
	}
	if where.line == 0 {
		err = fmt.Errorf("%s: %w", p.name, err)
	} else {
		err = fmt.Errorf("%s:%d:%d: %w", p.name, where.line, where.column, err)
	}
	if p.key.Name != "" {
		p.broken[p.key] = joined(p.broken[p.key], err)
	} else {
		p.unknown = true
	}
	if len(p.errs) >= maxErrors {
		p.more++
		return
	}
	p.errs = append(p.errs, err)
}

func (p *parser) documents(docs []*node, err error) error {
	for _, n := range docs {
		p.node(n)
	}
	return err
}

// node reads a resource, a list of resources, or a DiscoveryResponse.
func (p *parser) node(n *node) {
	url := textOf(n.Get("@type"))
	switch list := n.Get("resources"); {
	case n.Kind == document.Sequence:
		for _, item := range n.Values {
			p.node(item)
		}
	case isNull(n):
	case n.Kind == document.Scalar:
		p.fail(at(n), errors.New("must be a resource, a list of resources, or a DiscoveryResponse"))
	case list != nil && (url == "" || url == responseURL):
		if list.Kind != document.Sequence {
			p.fail(at(list), errors.New("resources; must be a list"))
			return
		}
		for _, item := range list.Values {
			p.node(item)
		}
	case url == wrapperURL:
		p.wrapper(n)
	case url == "":
		p.fail(at(n), errors.New(`"@type"; must be the type URL of the resource`))
	default:
		p.resource(n, n, &discoveryv3.Resource{})
	}
}

// wrapper reads a resource in an envoy.service.discovery.v3.Resource.
func (p *parser) wrapper(n *node) {
	inner := n.Get("resource")
	if inner == nil {
		p.fail(at(n), errors.New("resource; must be set"))
		return
	}
	outer := n.Without(n.Get("@type")).Without(inner)
	defer p.reading(inner, textOf(n.Get("name")))()
	w := new(discoveryv3.Resource)
	if err := unmarshal(outer, w); err != nil {
		p.fail(at(n), err)
		return
	}
	p.resource(n, inner, w)
}

// resource reads the resource of a node. Errors that are not about a field are at the outer one.
func (p *parser) resource(outer, n *node, w *discoveryv3.Resource) {
	url := textOf(n.Get("@type"))
	if !p.dir.serves(url) {
		return
	}
	defer p.reading(n, w.GetName())()
	body := new(anypb.Any)
	if err := unmarshal(n, body); err != nil {
		p.fail(at(n), err)
		return
	}
	w.Resource = body
	p.add(w, at(outer), n)
}

// text reads a DiscoveryResponse in text.
func (p *parser) text(data []byte) error {
	r := new(discoveryv3.DiscoveryResponse)
	if err := prototext.Unmarshal(data, r); err != nil {
		line, column, text := splitError(err)
		return failure(position{line, column}, "%s", text)
	}
	return p.response(r)
}

// binary reads an encoded DiscoveryResponse.
func (p *parser) binary(data []byte) error {
	r := new(discoveryv3.DiscoveryResponse)
	if err := proto.Unmarshal(data, r); err != nil {
		return fmt.Errorf("must be a DiscoveryResponse: %w", err)
	}
	return p.response(r)
}

func (p *parser) response(r *discoveryv3.DiscoveryResponse) error {
	for i, a := range r.GetResources() {
		w := &discoveryv3.Resource{Resource: a}
		if a.GetTypeUrl() == wrapperURL {
			w = new(discoveryv3.Resource)
			if err := proto.Unmarshal(a.GetValue(), w); err != nil {
				p.fail(position{}, fmt.Errorf("resources[%d]: %w", i, err))
				continue
			}
		}
		if p.dir.serves(w.GetResource().GetTypeUrl()) {
			p.add(w, position{}, nil)
		}
	}
	return nil
}

// add validates a resource and adds it. The node has the positions of its fields, and may be nil.
func (p *parser) add(w *discoveryv3.Resource, where position, n *node) {
	r, err := p.dir.validate(w)
	if err == nil {
		p.resources = append(p.resources, r)
		return
	}
	if p.key.Name == "" {
		p.key = claimed(r.Key)
		defer func() { p.key = source.Key{} }()
	}
	if n == nil && r.Name != "" {
		err = prefixed(r.String(), err)
	}
	invalid, ok := errors.AsType[*resource.ValidationError](err)
	if !ok || n == nil {
		p.fail(where, err)
		return
	}
	for _, v := range invalid.Violations {
		p.fail(find(n, v.Path), errors.New(v.String()))
	}
}

func prefixed(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

// serves reports whether resources of a type are read: all types of the set with their list
// collections, or every type without a set.
func (d *Dir) serves(url string) bool {
	if d.options.Types == nil {
		return true
	}
	return d.types[envelope.MessageName(url)]
}
