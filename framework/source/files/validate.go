package files

import (
	"errors"
	"fmt"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// typesOf returns the messages of the set and of its list collections.
func typesOf(set *resource.Set) map[string]bool {
	types := make(map[string]bool)
	if set != nil {
		for _, t := range set.All() {
			types[t.Name] = true
			if t.Collection != "" {
				types[t.Collection] = true
			}
		}
	}
	return types
}

// validate returns the resource in a wrapper if the decoder of its type accepts it. With an error,
// the resource has only its key.
func (d *Dir) validate(w *discoveryv3.Resource) (r source.Resource, err error) {
	body := w.GetResource()
	message := envelope.MessageName(body.GetTypeUrl())
	r.Type = urlPrefix + message
	t := d.descriptor(message)
	r.Name = w.GetName()
	if named, err := nameOf(t, w); err != nil {
		return r, err
	} else if named != "" {
		r.Name = named
	}
	if r.Name == "" {
		return r, fmt.Errorf("name; must be set: wrap a message without a name in %s", wrapperURL)
	}
	n, err := d.parseName(r.Name)
	if err != nil {
		return r, err
	}
	r.Name = n.String()
	full := source.Resource{Key: r.Key, Body: body.GetValue(), Aliases: w.GetAliases(), TTL: w.GetTtl().AsDuration()}
	if full.Body == nil {
		full.Body = []byte{}
	}
	full.Version = source.Version(&full)
	if err := new(source.Tx).Put(full).Check(); err != nil {
		return r, err
	}
	if t != nil {
		if err := d.decode(t, n, &full); err != nil {
			return r, err
		}
	}
	return full, nil
}

func (d *Dir) descriptor(message string) *resource.Descriptor {
	if d.options.Types == nil {
		return nil
	}
	t, _ := d.options.Types.Lookup(message)
	return t
}

func (d *Dir) parseName(s string) (xdstp.Name, error) {
	if d.options.Config == nil {
		return xdstp.Parse(s)
	}
	return d.options.Config.ParseName(s)
}

// nameOf returns the name in a message, or "". Without a descriptor, it is the field "name", or
// "cluster_name" of a ClusterLoadAssignment.
func nameOf(t *resource.Descriptor, w *discoveryv3.Resource) (string, error) {
	if t != nil {
		if t.PeekName == nil {
			return "", nil
		}
		return t.PeekName(w.GetResource().GetValue())
	}
	m, err := w.GetResource().UnmarshalNew()
	if err != nil {
		return "", err
	}
	for _, field := range []protoreflect.Name{"name", "cluster_name"} {
		f := m.ProtoReflect().Descriptor().Fields().ByName(field)
		if f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() {
			return m.ProtoReflect().Get(f).String(), nil
		}
	}
	return "", nil
}

// decode validates a resource with the decoder of its type. A panic of the decoder is an error.
func (d *Dir) decode(t *resource.Descriptor, n xdstp.Name, r *source.Resource) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the decoder panics: %v", v)
		}
	}()
	dc := &resource.DecodeContext{
		Name: n, Version: r.Version, Server: d.options.Server, Bootstrap: d.options.Config, Types: d.options.Types,
	}
	if u, err := t.Decode(dc, r.Body); err != nil {
		return err
	} else if u == nil {
		return errors.New("the decoder returns nothing")
	}
	return nil
}
