// Package offline decodes resources as a client does, without a control plane.
package offline

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/registry"
)

// A Decoder decodes resources. Any goroutine may use it.
type Decoder struct {
	set    *resource.Set
	boot   *bootstrap.Config
	server *bootstrap.Server
}

// New returns a decoder for the registered types. A nil bootstrap has federation, and neither
// authorities nor certificate providers.
//
// In profile gRPC, the decoder accepts the resources that a gRPC channel of this module accepts. It
// leaves out extensions that only read their configuration, as package grpcxds does.
func New(profile xdsforge.Profile, boot *bootstrap.Config, types ...func(xdsforge.Registrar)) (*Decoder, error) {
	reg := registry.New(registry.WithProfile(profile))
	for _, f := range types {
		f(reg)
	}
	set, err := reg.Freeze()
	if err != nil {
		return nil, err
	}
	if profile == xdsforge.GRPC {
		set = set.Keep(runs)
	}
	d := &Decoder{set: set, boot: boot}
	if boot != nil && len(boot.Servers()) > 0 {
		d.server = boot.Servers()[0]
		return d, nil
	}
	d.server, err = bootstrap.NewServer(bootstrap.ServerSpec{URI: "offline", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
	return d, err
}

// runs reports whether an extension has code beside the half that reads configurations.
func runs(x resource.Extension) bool {
	switch x.(type) {
	case *resource.HTTPFilter, *resource.CertificateProvider:
		return false
	default:
		return true
	}
}

// Types returns the types and extensions.
func (d *Decoder) Types() *resource.Set { return d.set }

// ErrNoDecoder means that no registered type decodes the message.
var ErrNoDecoder = errors.New("no registered resource type")

// Decode decodes a resource. The name is that of its wrapper, or "" if it has none. The error is a
// [*resource.ValidationError], ErrNoDecoder, or another reason to reject the resource.
func (d *Decoder) Decode(a *anypb.Any, name, version string) (resource.Update, error) {
	typ, ok := d.set.LookupURL("/" + a.GetTypeUrl()[strings.LastIndexByte(a.GetTypeUrl(), '/')+1:])
	if !ok {
		return nil, ErrNoDecoder
	}
	n, err := d.nameOf(typ, a.GetValue(), name)
	if err != nil {
		return nil, err
	}
	dc := &resource.DecodeContext{Name: n, Version: version, Server: d.server, Bootstrap: d.boot, Types: d.set}
	return typ.Decode(dc, a.GetValue())
}

// unnamed is the name of resources that have none, as in a file with a bare message of a type that
// keeps names in the wrapper.
const unnamed = "unnamed"

func (d *Decoder) nameOf(typ *resource.Descriptor, body []byte, wrapper string) (xdstp.Name, error) {
	name := wrapper
	if typ.PeekName != nil {
		inner, err := typ.PeekName(body)
		switch {
		case err != nil:
			return xdstp.Name{}, err
		case wrapper != "" && inner != wrapper:
			return xdstp.Name{}, fmt.Errorf("the name %q of the message must be that of the wrapper, %q", inner, wrapper)
		}
		name = inner
	} else if name == "" {
		name = unnamed
	}
	n, err := d.ParseName(name)
	if err == nil {
		err = n.CheckType(typ.Name)
	}
	return n, err
}

// ParseName parses a name by the rules of the bootstrap.
func (d *Decoder) ParseName(s string) (xdstp.Name, error) {
	if d.boot == nil {
		return xdstp.Parse(s)
	}
	return d.boot.ParseName(s)
}

// PeekName returns the name in a resource, or "" if it has none or cannot be read.
func (d *Decoder) PeekName(a *anypb.Any) string {
	typ, ok := d.set.LookupURL("/" + a.GetTypeUrl()[strings.LastIndexByte(a.GetTypeUrl(), '/')+1:])
	if !ok || typ.PeekName == nil {
		return ""
	}
	name, err := typ.PeekName(a.GetValue())
	if err != nil {
		return ""
	}
	return name
}
