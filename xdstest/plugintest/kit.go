package plugintest

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// A kit is a plugin and its test environment.
type kit struct {
	Plugin
	typ    *resource.Descriptor
	types  *resource.Set
	server *bootstrap.Server
	update bool // rewrites the cases
}

func newKit(t *testing.T, p Plugin) *kit {
	t.Helper()
	typ := resource.Describe(p.Type)
	types := []*resource.Descriptor{typ}
	for _, name := range p.Inlined {
		if name != typ.Name {
			types = append(types, opaqueType(name))
		}
	}
	set, err := resource.NewSet(types...)
	if err != nil {
		t.Fatal(err)
	}
	return &kit{Plugin: p, typ: typ, types: set, server: testServer(t), update: slices.Contains(flag.Args(), "update")}
}

// An opaque is an inlined resource. The kit uses only its bytes.
type opaque struct{ resource.Meta }

// opaqueType is a type that accepts any message with the given full name.
func opaqueType(name string) *resource.Descriptor {
	return &resource.Descriptor{
		Name:     name,
		NewShard: func() resource.Shard { return runtime.NewShard[*opaque]() },
		Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
			t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
			if err != nil {
				return nil, err
			}
			if err := proto.Unmarshal(body, t.New().Interface()); err != nil {
				return nil, wire.Unparseable(name, err)
			}
			return &opaque{dc.Meta(body)}, nil
		},
	}
}

// testType checks the properties of a type that need no resource.
func (k *kit) testType(t *testing.T) {
	if got := string(k.Message().ProtoReflect().Descriptor().FullName()); got != k.typ.Name {
		t.Errorf("Type.Name = %q; the message is a %s", k.typ.Name, got)
	}
	if (k.NameField == "") != (k.typ.PeekName == nil) {
		t.Errorf("the name's field is %q, and PeekName is nil: %v", k.NameField, k.typ.PeekName == nil)
	}
	if s := k.typ.NewShard(); s == nil || s.Len() != 0 {
		t.Errorf("NewShard() = %v; must be empty", s)
	}
}

// testGarbage decodes bytes that are not a resource.
func (k *kit) testGarbage(t *testing.T) {
	if k.NameField != "" {
		if u, err := k.decode("", nil); err == nil {
			t.Errorf("an empty resource, which has no name, became %v", u)
		}
	}
	k.tryDecode(t, nil)
	if u, err := k.decode("garbage", []byte{0xff}); err == nil {
		t.Errorf("the byte ff became %v", u)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		k.tryDecode(t, binary.LittleEndian.AppendUint64(nil, rnd.Uint64())[:rnd.IntN(9)])
	}
}

func (k *kit) decode(name string, body []byte) (resource.Update, error) {
	return decode(k.typ, k.types, k.server, name, body)
}

// tryDecode decodes arbitrary bytes. They may be invalid, but must not make the decoder panic.
func (k *kit) tryDecode(t *testing.T, body []byte) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("decoding %x panics: %v", body, r)
		}
	}()
	u, err := k.decode("mutated", body)
	if (u == nil) == (err == nil) {
		t.Errorf("decoding %x returns %v and %v; must return one of them", body, u, err)
	}
	k.checkPeekName(t, body)
}

// checkPeekName compares PeekName with the name in the message, if the bytes are a message.
func (k *kit) checkPeekName(t *testing.T, body []byte) {
	t.Helper()
	m := k.Message()
	if k.NameField == "" || proto.Unmarshal(body, m) != nil {
		return
	}
	field := m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(k.NameField))
	want := m.ProtoReflect().Get(field).String()
	if got, err := k.typ.PeekName(body); err != nil || got != want {
		t.Errorf("PeekName(%x) = %q, %v; the message's %s is %q", body, got, err, k.NameField, want)
	}
}

// testMutations decodes prefixes and mutations of a case's bytes.
func (k *kit) testMutations(t *testing.T, c *testCase) {
	t.Helper()
	for n := range min(len(c.body), 512) {
		k.tryDecode(t, c.body[:n])
	}
	rnd := rand.New(rand.NewPCG(uint64(len(c.body)), 3))
	for range 500 {
		k.tryDecode(t, mutate(rnd, c.body))
	}
}

// mutate changes, drops or repeats some of the bytes.
func mutate(rnd *rand.Rand, body []byte) []byte {
	out := append([]byte(nil), body...)
	for range 1 + rnd.IntN(4) {
		if len(out) == 0 {
			return out
		}
		i := rnd.IntN(len(out))
		switch rnd.IntN(3) {
		case 0:
			out[i] ^= 1 << rnd.IntN(8)
		case 1:
			out = append(out[:i], out[i+1:]...)
		default:
			out = append(out, out[i:]...)
		}
	}
	return out
}
