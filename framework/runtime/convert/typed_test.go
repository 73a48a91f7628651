package convert

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"testing"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

func pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTyped reads a FractionalPercent from an Any in each way: as a message or a view, and with or
// without TypedStructs.
func TestTyped(t *testing.T) {
	const name = "envoy.type.v3.FractionalPercent"
	value, err := structpb.NewStruct(map[string]any{"numerator": 7.0})
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := structpb.NewStruct(map[string]any{"other": 7.0})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		why   string
		in    *anypb.Any
		name  string // TypedName
		plain string // the violation if TypedStructs are not allowed; empty if the value is valid
		typed string // that with them
	}{
		{"the message", pack(t, &typev3.FractionalPercent{Numerator: 7}), name, "", ""},
		{"a type URL without a host", &anypb.Any{TypeUrl: name, Value: pack(t, &typev3.FractionalPercent{Numerator: 7}).GetValue()}, name, "", ""},
		{"another message", pack(t, durationpb.New(7)), "google.protobuf.Duration", `p = "google.protobuf.Duration"; must be a ` + name, `p = "google.protobuf.Duration"; must be a ` + name},
		{"no type URL", &anypb.Any{}, "", `p = ""; must be a ` + name, `p = ""; must be a ` + name},
		{"malformed bytes", &anypb.Any{TypeUrl: "x/" + name, Value: []byte{0xff}}, name, "p = ", "p = "},
		{"a TypedStruct", pack(t, &xdsv3.TypedStruct{TypeUrl: "x/" + name, Value: value}), name, `p = "xds.type.v3.TypedStruct"; must be a ` + name, ""},
		{"a TypedStruct of udpa", pack(t, &udpav1.TypedStruct{TypeUrl: name, Value: value}), name, `p = "udpa.type.v1.TypedStruct"; must be a ` + name, ""},
		{
			"a TypedStruct of another message", pack(t, &xdsv3.TypedStruct{TypeUrl: "x/y.Z", Value: value}), "y.Z",
			`p = "xds.type.v3.TypedStruct"; must be a ` + name, `p.type_url = "y.Z"; must be a ` + name,
		},
		{
			"a TypedStruct with a field that is not known", pack(t, &xdsv3.TypedStruct{TypeUrl: "x/" + name, Value: unknown}), name,
			`p = "xds.type.v3.TypedStruct"; must be a ` + name, "p.value",
		},
		{
			"a malformed TypedStruct", &anypb.Any{TypeUrl: "x/xds.type.v3.TypedStruct", Value: []byte{0xff}}, "xds.type.v3.TypedStruct",
			`p = "xds.type.v3.TypedStruct"; must be a ` + name, `p = "xds.type.v3.TypedStruct"; must be a ` + name,
		},
	} {
		if got := TypedName(newContext(t), tt.in); got != tt.name {
			t.Errorf("%s: TypedName = %q, want %q", tt.why, got, tt.name)
		}
		p := (*resource.Path)(nil).Field("p")
		message := func(open func(*resource.DecodeContext, resource.Path, *anypb.Any, proto.Message, *resource.Violations) bool) (uint32, bool, error) {
			var v resource.Violations
			m := new(typev3.FractionalPercent)
			ok := open(newContext(t), p, tt.in, m, &v)
			return m.GetNumerator(), ok, v.Err()
		}
		view := func(read func(*resource.DecodeContext, resource.Path, *anypb.Any, proto.Message, *resource.Violations) (wire.Reader, bool)) (n uint32, ok bool, _ error) {
			var v resource.Violations
			dc := newContext(t)
			r, ok := read(dc, p, tt.in, (*typev3.FractionalPercent)(nil), &v)
			if ok {
				for r.Next() {
					n = r.Uint32()
				}
				ok = Parsed(dc, r.OK(), p, tt.in, (*typev3.FractionalPercent)(nil), &v)
			}
			return n, ok, v.Err()
		}
		for how, result := range map[string]func() (uint32, bool, error){
			"OpenAny":   func() (uint32, bool, error) { return message(OpenAny) },
			"ReadAny":   func() (uint32, bool, error) { return view(ReadAny) },
			"OpenTyped": func() (uint32, bool, error) { return message(OpenTyped) },
			"ReadTyped": func() (uint32, bool, error) { return view(ReadTyped) },
		} {
			want := tt.plain
			if strings.HasSuffix(how, "Typed") {
				want = tt.typed
			}
			n, ok, err := result()
			if want == "" {
				if !ok || err != nil || n != 7 {
					t.Errorf("%s: %s reads %d, %v, %v; want 7", tt.why, how, n, ok, err)
				}
			} else if ok || err == nil || !strings.HasPrefix(err.Error(), strings.TrimSuffix(want, " = ")) {
				t.Errorf("%s: %s reads %d, %v, %v; want %s", tt.why, how, n, ok, err, want)
			}
		}
	}
}

func TestEncodedAndCopies(t *testing.T) {
	if b := Encoded((*wrapperspb.UInt32Value)(nil)); b != nil {
		t.Errorf("no message is encoded as %v", b)
	}
	if b := Encoded(wrapperspb.UInt32(0)); b == nil || len(b) != 0 {
		t.Errorf("an empty message is encoded as %#v, want no bytes, but not nil", b)
	}
	if b := Encoded(wrapperspb.UInt32(7)); string(b) != "\x08\x07" {
		t.Errorf("a message is encoded as % x", b)
	}
	if CopyAny(nil) != nil {
		t.Error("a copy of nothing is something")
	}
	a := pack(t, wrapperspb.UInt32(7))
	a.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	if c := CopyAny(a); c.GetTypeUrl() != a.GetTypeUrl() || !bytes.Equal(c.GetValue(), a.GetValue()) || len(c.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("the copy of %v is %v, want it without unknown fields", a, c)
	}
}

// newContext returns the context for decoding one resource.
func newContext(t *testing.T) *resource.DecodeContext {
	t.Helper()
	types, err := resource.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: types}
	dc.Read("test.Message", nil)
	return dc
}

// TestAddressesAndViews compares HostPort with net.JoinHostPort, and with HostPort of a view.
func TestAddressesAndViews(t *testing.T) {
	socket := func(host string, port uint32) *corev3.Address {
		return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
		}}}
	}
	p := (*resource.Path)(nil).Field("a")
	dc := newContext(t)
	for _, host := range []string{"h", "h.example", "10.0.0.1", "::1", "fe80::1%eth0", "h%1", strings.Repeat("a", 300)} {
		for _, port := range []uint32{0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 9090, 9999, 10000, 10001, 65534, 65535} {
			var v resource.Violations
			want := net.JoinHostPort(host, strconv.Itoa(int(port)))
			if got := HostPort(dc, p, socket(host, port), &v); got != want || v.Err() != nil {
				t.Errorf("HostPort = %q, %v; want %q", got, v.Err(), want)
			}
			if got := ViewHostPort(dc, p, Socket{HostAndPort, host, port}, &v); got != want || v.Err() != nil {
				t.Errorf("ViewHostPort = %q, %v; want %q", got, v.Err(), want)
			}
		}
	}
	named := &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "h", PortSpecifier: &corev3.SocketAddress_NamedPort{NamedPort: "http"},
	}}}
	for _, tt := range []struct {
		in       *corev3.Address
		view     Socket
		hostPort string // or the violation of both
		addrPort string // if it differs
	}{
		{nil, Socket{}, "", ""},
		{socket("1.2.3.4", 80), Socket{HostAndPort, "1.2.3.4", 80}, "1.2.3.4:80", "1.2.3.4:80"},
		{socket("h", 80), Socket{HostAndPort, "h", 80}, "h:80", `!a.socket_address.address = "h"; must be an IP address`},
		{socket("1.2.3.4", 65536), Socket{HostAndPort, "1.2.3.4", 65536}, "!a.socket_address.port_value = 65536; must be at most 65535", ""},
		{socket("", 1), Socket{HostAndPort, "", 1}, `!a.socket_address.address = ""; must be an IP address or a name, without brackets`, ""},
		{socket("[::1]", 1), Socket{HostAndPort, "[::1]", 1}, `!a.socket_address.address = "[::1]"; must be an IP address or a name, without brackets`, ""},
		{named, Socket{Kind: NamedPort, Text: "http"}, `!a.socket_address.named_port = "http"; must not be set; a port is a number`, ""},
		{&corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{}}}, Socket{Kind: OtherSocket}, "!a; must have a socket_address", ""},
	} {
		if tt.addrPort == "" {
			tt.addrPort = tt.hostPort
		}
		check := func(how, want string, read func(v *resource.Violations) string) {
			var v resource.Violations
			got := read(&v)
			if err := v.Err(); err != nil {
				got = "!" + err.Error()
			}
			if got != want && (want != "" || got != "invalid AddrPort") {
				t.Errorf("%s of %v = %q, want %q", how, tt.in, got, want)
			}
		}
		check("HostPort", tt.hostPort, func(v *resource.Violations) string { return HostPort(dc, p, tt.in, v) })
		check("ViewHostPort", tt.hostPort, func(v *resource.Violations) string { return ViewHostPort(dc, p, tt.view, v) })
		check("AddrPort", tt.addrPort, func(v *resource.Violations) string { return AddrPort(p, tt.in, v).String() })
		check("ViewAddrPort", tt.addrPort, func(v *resource.Violations) string { return ViewAddrPort(p, tt.view, v).String() })
	}
}

func TestHeader(t *testing.T) {
	var v resource.Violations
	p := (*resource.Path)(nil).Field("h")
	h := Header(nil, p, &routev3.HeaderMatcher{Name: "A", HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}}, &v)
	if !h.Match("", true) || h.Match("", false) || v.Err() != nil {
		t.Errorf("the matcher is %+v, %v", h, v.Err())
	}
	Header(nil, p, &routev3.HeaderMatcher{Name: "A"}, &v)
	if err := v.Err(); err == nil || err.Error() != "h.header_match_specifier; must be set (A28)" {
		t.Errorf("a matcher without a specifier: %v", err)
	}
}

func TestOrderOfKeys(t *testing.T) {
	ordered(t, false, true)
	ordered[int32](t, -2, -1, 3)
	ordered[int64](t, -2, -1, 3)
	ordered[uint32](t, 1, 2, 1<<31)
	ordered[uint64](t, 1, 2, 1<<63)
	ordered(t, "", "A", "a", "b")
}

func ordered[K MapKey](t *testing.T, keys ...K) {
	t.Helper()
	m := make(map[K]int)
	for i, k := range keys {
		m[k] = i
		if compareKeys(k, k) != 0 {
			t.Errorf("%v differs from itself", k)
		}
	}
	i := 0
	for k, n := range Sorted(m) {
		if n != i || k != keys[i] {
			t.Errorf("entry %v has position %d; want %d", k, i, n)
		}
		i++
	}
	for range Sorted(m) {
		break // the loop must end here
	}
}

func TestEntryOfLongKeys(t *testing.T) {
	long := strings.Repeat("a", maxKey)
	for got, want := range map[string]string{
		Entry("m", int32(7)): "m[7]",
		Entry("m", true):     "m[true]",
		Entry("m", `a"b`):    `m["a\"b"]`,
		Entry("m", long):     `m["` + long + `"]`,
		Entry("m", long+"b"): `m["` + long + `"…]`,
	} {
		if got != want {
			t.Errorf("Entry = %s, want %s", got, want)
		}
	}
}

// An inlined update has only its bytes.
type inlined struct {
	resource.Update

	raw string
}

func (u *inlined) Raw() []byte { return []byte(u.raw) }

func TestEqualUpdates(t *testing.T) {
	a, b, c := &inlined{raw: "a"}, &inlined{raw: "a"}, &inlined{raw: "c"}
	for _, tt := range []struct {
		x, y resource.Update
		want bool
	}{{a, b, true}, {a, c, false}, {a, nil, false}, {nil, a, false}, {nil, nil, true}} {
		if got := EqualUpdates(tt.x, tt.y); got != tt.want {
			t.Errorf("EqualUpdates(%v, %v) = %v", tt.x, tt.y, got)
		}
	}
}
