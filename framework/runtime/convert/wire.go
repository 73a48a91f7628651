package convert

import (
	"net/netip"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// The functions of this file are the package's functions for views (see package wire).

// ReadAny is [OpenAny] for a view. It returns a reader of the message in a, which must be of m's
// type. Only m's type is used. Pass the result of reading to [Parsed].
func ReadAny(dc *resource.DecodeContext, p resource.Path, a *anypb.Any, m proto.Message, v *resource.Violations) (r wire.Reader, ok bool) {
	if want := m.ProtoReflect().Descriptor().FullName(); !holds(a, want) {
		v.Add(p, string(a.MessageName()), "must be a "+string(want))
		return r, false
	}
	return dc.Reader(a.GetValue()), true
}

// ReadTyped is [OpenTyped] for a view.
func ReadTyped(dc *resource.DecodeContext, p resource.Path, a *anypb.Any, m proto.Message, v *resource.Violations) (r wire.Reader, ok bool) {
	if _, _, typed := typedStruct(dc, a); !typed {
		return ReadAny(dc, p, a, m, v)
	}
	message := m.ProtoReflect().New().Interface()
	if !OpenTyped(dc, p, a, message, v) {
		return r, false
	}
	body, err := proto.Marshal(message)
	if err != nil {
		v.AddError(p.Field("value"), wire.Unparseable(string(message.ProtoReflect().Descriptor().FullName()), err))
		return r, false
	}
	return dc.Reader(body), true
}

// Parsed returns ok. If the message in a could not be read, it records a violation.
func Parsed(dc *resource.DecodeContext, ok bool, p resource.Path, a *anypb.Any, m proto.Message, v *resource.Violations) bool {
	if !ok {
		v.AddError(p, dc.Unreadable(string(a.MessageName()), a.GetValue(), m))
	}
	return ok
}

// ViewHostPort is [HostPort] of a view. The text is allocated in the context's arena.
func ViewHostPort(dc *resource.DecodeContext, p resource.Path, s Socket, v *resource.Violations) string {
	if !s.valid() {
		s.rejectUnlessOther(dc, p, v)
		return ""
	}
	to := dc.Arena()
	n := len(s.Text) + len(":65535")
	if isIPv6(s.Text) {
		n += len("[]")
	}
	return to.Text(join(to.Buffer(n), s.Text, s.Port))
}

// ViewAddrPort is [AddrPort] of a view.
func ViewAddrPort(p resource.Path, s Socket, v *resource.Violations) netip.AddrPort {
	return addrPort(p, s, v)
}
