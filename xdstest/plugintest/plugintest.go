package plugintest

import (
	"fmt"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Plugin is a resource type under test.
type Plugin struct {
	// Type is the type.
	Type resource.Type
	// Message makes an empty message of it.
	Message func() proto.Message
	// NameField is the field that carries the resource's name; empty where the
	// wrapper does.
	NameField string
	// Inlined are the messages of the resources that are inlined in this one's.
	Inlined []string
}

// version is the version that all resources of the kit have.
const version = "1"

// Run tests a resource type: its cases in testdata, and what it makes of bytes
// that are none of its messages.
func Run(t *testing.T, p Plugin) {
	t.Helper()
	k := newKit(t, p)
	t.Run("Type", k.testType)
	t.Run("Garbage", k.testGarbage)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := k.readCase(t, file)
			k.testVerdict(t, c)
			k.testWatch(t, c)
			k.testMutations(t, c)
		})
	}
}

// Decode decodes one resource as a client does that knows no other type. The
// name is the one that m carries where name is empty.
func Decode(t testing.TB, typ resource.Type, name string, m proto.Message) (resource.Update, error) {
	t.Helper()
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	d := resource.Describe(typ)
	types, err := resource.NewSet(d)
	if err != nil {
		t.Fatal(err)
	}
	return decode(d, types, testServer(t), name, body)
}

// decode finds out the name and decodes.
func decode(typ *resource.Descriptor, types *resource.Set, server *bootstrap.Server, name string, body []byte) (resource.Update, error) {
	n, err := resourceName(typ, name, body)
	if err != nil {
		return nil, err
	}
	dc := &resource.DecodeContext{Name: n, Version: version, Server: server, Types: types}
	return typ.Decode(dc, body)
}

// resourceName is the given name or, where it is empty, the one that the resource
// carries.
func resourceName(typ *resource.Descriptor, name string, body []byte) (xdstp.Name, error) {
	if name == "" {
		if typ.PeekName == nil {
			return xdstp.Name{}, fmt.Errorf("plugintest: a %s carries no name, and none was given", typ.ShortName())
		}
		var err error
		if name, err = typ.PeekName(body); err != nil {
			return xdstp.Name{}, resource.Unparseable(typ.Name, err)
		}
	}
	return xdstp.Parse(name)
}

// testServer is the server entry that all resources of the kit come from.
func testServer(t testing.TB) *bootstrap.Server {
	t.Helper()
	s, err := bootstrap.ParseServer([]byte(`{"server_uri": "xds.test:443", "channel_creds": [{"type": "insecure"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
