package xdsd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
)

const typePrefix = "type.googleapis.com/"

// A namesFlag is a flag such as "-name TYPE=NAME", which may be repeated.
type namesFlag []source.Interest

// String implements [flag.Value].
func (namesFlag) String() string { return "" }

// Set implements [flag.Value].
func (f *namesFlag) Set(s string) error {
	message, name, ok := strings.Cut(s, "=")
	if !ok || message == "" || name == "" {
		return errors.New("must be TYPE=NAME, such as envoy.config.listener.v3.Listener=shop")
	}
	*f = append(*f, source.Interest{Type: typePrefix + message, Name: name})
	return nil
}

// importTo writes the resources of a control plane to the files of a folder.
func (a *app) importTo(ctx context.Context, args []string) error {
	var names namesFlag
	s := flag.NewFlagSet("import", flag.ContinueOnError)
	upstream := s.String("upstream", "", "the bootstrap `file` with the control planes")
	timeout := s.Duration("timeout", time.Minute, "give up after this `time`")
	s.Var(&names, "name", "import this resource, as `TYPE=NAME`, and all that it refers to; may be repeated; default: all listeners and clusters")
	rest, err := a.parse(s, args, 1, 1, "DIR")
	if err != nil {
		return err
	}
	if *upstream == "" {
		return errors.New("-upstream; must be set to a bootstrap file")
	}
	if entries, err := os.ReadDir(rest[0]); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s; must be empty or absent", rest[0])
	}
	if len(names) == 0 {
		for _, message := range []string{"envoy.config.listener.v3.Listener", "envoy.config.cluster.v3.Cluster"} {
			names = append(names, source.Interest{Type: typePrefix + message, Name: source.Wildcard})
		}
	}
	o, err := a.open("", upstreamPrefix+*upstream, new(serveFlags)) //nolint:contextcheck // a source ends with Close
	if err != nil {
		return err
	}
	defer o.close()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	im := &importer{app: a, has: make(map[source.Key]source.Resource), waiting: make(map[source.Interest]bool), asked: make(map[source.Interest]bool), done: make(chan struct{})}
	if im.session, err = o.source.Open(ctx, im); err != nil {
		return err
	}
	im.want(names)
	select {
	case <-im.done:
	case <-ctx.Done():
		return &exitError{exitUnreachable, fmt.Errorf("%s: %w", im.describe(), context.Cause(ctx))}
	}
	return im.write(rest[0])
}

// An importer is the sink of a session that wants some resources, and everything that they refer to.
type importer struct {
	app     *app
	session source.Session

	mu      sync.Mutex
	has     map[source.Key]source.Resource
	asked   map[source.Interest]bool
	waiting map[source.Interest]bool // of those, without a complete answer
	state   source.State
	done    chan struct{}
	ended   bool
}

// want subscribes to what was not asked for before.
func (im *importer) want(list []source.Interest) {
	im.mu.Lock()
	var add []source.Interest
	for _, i := range list {
		if !im.asked[i] {
			im.asked[i], im.waiting[i] = true, true
			add = append(add, i)
		}
	}
	im.mu.Unlock()
	im.session.Want(add, nil)
}

// Apply implements [source.Sink].
func (im *importer) Apply(c source.Change) error {
	refs := make([]source.Interest, 0, len(c.Put))
	im.mu.Lock()
	for _, k := range c.Delete {
		delete(im.has, k)
	}
	for i := range c.Put {
		im.has[c.Put[i].Key] = c.Put[i]
		refs = append(refs, im.app.references(&c.Put[i])...)
	}
	for _, i := range c.Complete {
		delete(im.waiting, i)
	}
	im.mu.Unlock()
	im.want(refs)
	im.mu.Lock()
	defer im.mu.Unlock()
	if len(im.waiting) == 0 && !im.ended {
		im.ended = true
		close(im.done)
	}
	return nil
}

// State implements [source.Sink].
func (im *importer) State(s source.State) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.state = s
}

func (im *importer) describe() string {
	im.mu.Lock()
	defer im.mu.Unlock()
	return fmt.Sprintf("the control plane is %v; no answer for %d subscriptions", im.state, len(im.waiting))
}

// references returns the resources that a resource refers to.
func (a *app) references(r *source.Resource) (list []source.Interest) {
	t, ok := a.types.Lookup(strings.TrimPrefix(r.Type, typePrefix))
	if !ok || r.Err != nil {
		return nil
	}
	dc := &resource.DecodeContext{Version: r.Version, Types: a.types}
	var err error
	if dc.Name, err = dc.ParseName(r.Name); err != nil {
		return nil
	}
	u, err := t.Decode(dc, r.Body)
	if err != nil || u == nil {
		return nil // the relay has rejected it
	}
	for ref := range u.Refs() {
		list = append(list, source.Interest{Type: typePrefix + ref.Type, Name: ref.Name.String()})
	}
	return list
}

// write writes a file for each resource.
func (im *importer) write(dir string) error {
	im.mu.Lock()
	defer im.mu.Unlock()
	written, lacks := 0, 0
	for i := range im.asked {
		if _, ok := im.has[source.Key(i)]; !ok && i.Name != source.Wildcard {
			im.app.print("%s does not exist", source.Key(i))
			lacks++
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(im.has), func(a, b source.Key) int { return strings.Compare(a.Type+a.Name, b.Type+b.Name) }) {
		r := im.has[k]
		if r.Err != nil {
			im.app.print("%s: %s", k, r.Err.GetMessage())
			lacks++
			continue
		}
		if err := im.app.writeFile(dir, &r); err != nil {
			return err
		}
		written++
	}
	fmt.Fprintf(im.app.stdout, "%d resources are in %s\n", written, dir)
	if lacks > 0 {
		return &exitError{exitRejected, nil}
	}
	return nil
}

// maxFileName is the limit of the part of a file's name that is the name of the resource.
const maxFileName = 150

// writeFile writes a resource as JSON, or as a binary response if it contains messages that are not linked.
func (a *app) writeFile(dir string, r *source.Resource) error {
	body := &anypb.Any{TypeUrl: r.Type, Value: r.Body}
	var m proto.Message = body
	if t, ok := a.types.Lookup(strings.TrimPrefix(r.Type, typePrefix)); !ok || t.PeekName == nil {
		wrapped, err := anypb.New(&discoveryv3.Resource{Name: r.Name, Resource: body})
		if err != nil {
			return err
		}
		m, body = wrapped, wrapped
	}
	data, err := protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Marshal(m)
	suffix := ".json"
	if err != nil {
		suffix = ".pb"
		data, err = proto.Marshal(&discoveryv3.DiscoveryResponse{TypeUrl: r.Type, Resources: []*anypb.Any{body}})
	}
	if err != nil {
		return err
	}
	name := url.PathEscape(r.Name)
	if len(name) > maxFileName {
		name = name[:maxFileName-17] + "-" + source.Version(&source.Resource{Body: []byte(r.Name)})
	}
	dir = filepath.Join(dir, r.Type[strings.LastIndexAny(r.Type, "./")+1:])
	if err := os.MkdirAll(dir, 0o750); err != nil { //nolint:gosec // no separator and no dot is left in the type
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+suffix), data, 0o600) //nolint:gosec // likewise, the name is escaped
}
