package xdstest

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/registry"
)

// decodedName is the name of decoded resources whose message carries none.
const decodedName = "xdstest"

// Decode makes an update of a message, as a client does with the message as a resource. It fails
// the test if a client would reject the message. See [TryDecode].
func Decode[U resource.Update](t testing.TB, typ resource.TypeOf[U], m proto.Message, register ...func(xdsforge.Registrar)) U {
	t.Helper()
	u, err := TryDecode(typ, m, register...)
	if err != nil {
		t.Fatalf("xdstest: a client rejects this %s: %v", typ.Name(), err)
	}
	return u
}

// TryDecode is [Decode] for tests of rejections. The functions register the types and extensions
// that the message needs, as those of xdsforge.WithTypes do: for example route.Register for a
// Listener with inline routes. The built-in extensions are there. The update has version "1" and
// the name that the message carries, or "xdstest" if the type's messages carry none.
func TryDecode[U resource.Update](typ resource.TypeOf[U], m proto.Message, register ...func(xdsforge.Registrar)) (U, error) {
	var none U
	d := resource.Describe(typ)
	if d == nil {
		return none, fmt.Errorf("xdstest: %w: the handle is a zero value", resource.ErrUnknownType)
	}
	if got := messageName(m); got != d.Name {
		return none, fmt.Errorf("xdstest: the message is a %s; the type is %s", got, d.Name)
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return none, fmt.Errorf("xdstest: %w", err)
	}
	dc, err := decodeContext(d, register)
	if err != nil {
		return none, err
	}
	if dc.Name, err = nameOf(d, body); err != nil {
		return none, err
	}
	u, err := d.Decode(dc, body)
	if err != nil {
		return none, err
	}
	v, _ := typ.Cast(u)
	return v, nil
}

// decodeContext returns the context of a decoder, without a name.
func decodeContext(d *resource.Descriptor, register []func(xdsforge.Registrar)) (*resource.DecodeContext, error) {
	reg := registry.New()
	d.Handle().Register(reg)
	for _, f := range register {
		f(reg)
	}
	builtin.Register(reg)
	set, err := reg.Freeze()
	if err != nil {
		return nil, err
	}
	server, err := bootstrap.ParseServer([]byte(`{"server_uri": "xdstest", "channel_creds": [{"type": "insecure"}]}`))
	if err != nil {
		return nil, err
	}
	return &resource.DecodeContext{Version: "1", Server: server, Types: set}, nil
}

// nameOf returns the name that an encoded message carries.
func nameOf(d *resource.Descriptor, body []byte) (xdstp.Name, error) {
	name := decodedName
	if d.PeekName != nil {
		var err error
		if name, err = d.PeekName(body); err != nil {
			return xdstp.Name{}, wire.Unparseable(d.Name, err)
		}
	}
	n, err := xdstp.Parse(name)
	if err == nil {
		err = n.CheckType(d.Name)
	}
	if err != nil {
		return xdstp.Name{}, fmt.Errorf("xdstest: the name of the %s: %w", d.Name, err)
	}
	return n, nil
}

// messageName returns the full name of a message; "nil" for nil.
func messageName(m proto.Message) string {
	if m == nil {
		return "nil"
	}
	return string(m.ProtoReflect().Descriptor().FullName())
}
