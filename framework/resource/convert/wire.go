package convert

import (
	"net/netip"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/wire"
)

// The functions of this file are those of the package for views (see package wire).

// A View is how a view is filled.
type View func(*wire.Reader)

// Strict is a view for which all bytes of a message of m's type are looked at,
// those that it skips too.
func Strict(m proto.Message, view View) View {
	return func(r *wire.Reader) {
		if r.Check(m) {
			view(r)
		}
	}
}

// ViewAny is [OpenAny] into a view of a message of m's type. Of m, only the type
// counts.
func ViewAny(p resource.Path, a *anypb.Any, m proto.Message, view View, v *resource.Violations) bool {
	if want := m.ProtoReflect().Descriptor().FullName(); !holds(a, want) {
		v.Add(p, string(a.MessageName()), "must be a "+string(want))
		return false
	}
	if !read(a.GetValue(), view) {
		v.AddError(p, resource.Unparseable(string(a.MessageName()), wire.Malformed(a.GetValue(), m)))
		return false
	}
	return true
}

// ViewTyped is [OpenTyped] into a view of a message of m's type.
func ViewTyped(p resource.Path, a *anypb.Any, m proto.Message, view View, v *resource.Violations) bool {
	if _, _, typed := typedStruct(a); !typed {
		return ViewAny(p, a, m, view, v)
	}
	message := m.ProtoReflect().New().Interface()
	if !OpenTyped(p, a, message, v) {
		return false
	}
	body, err := proto.Marshal(message)
	if err != nil {
		v.AddError(p.Field("value"), resource.Unparseable(string(message.ProtoReflect().Descriptor().FullName()), err))
		return false
	}
	return read(body, view)
}

// read fills a view.
func read(body []byte, view View) bool {
	r := wire.Read(body)
	view(&r)
	return r.OK()
}

// ViewHostPort is [HostPort] of a view. The text is made in the arena.
func ViewHostPort(to *wire.Arena, p resource.Path, s Socket, v *resource.Violations) string {
	if !s.valid() {
		s.reject(p, v)
		return ""
	}
	return to.Text(join(to.Buffer(len(s.Text)+len("[]:65535")), s.Text, s.Port))
}

// ViewAddrPort is [AddrPort] of a view.
func ViewAddrPort(p resource.Path, s Socket, v *resource.Violations) netip.AddrPort {
	return addrPort(p, s, v)
}
