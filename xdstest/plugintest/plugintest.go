package plugintest

import (
	"fmt"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// Plugin is a resource type under test.
type Plugin struct {
	// Type is the type.
	Type resource.Type
	// Message makes an empty message of the type.
	Message func() proto.Message
	// NameField is the field that has the resource's name. Empty means that only the wrapper names the resource.
	NameField string
	// Inlined has the full names of the messages that are inlined as resources.
	Inlined []string
	// Descriptor is the file beside the test that the type was generated from. Empty means that the type is
	// hand-written.
	Descriptor string
	// Sum identifies the content of Descriptor at the time of generation.
	Sum string
}

// version is the version of all resources of the kit.
const version = "1"

// Run tests a resource type with its cases in testdata, and with bytes that are not messages of the type.
func Run(t *testing.T, p Plugin) {
	t.Helper()
	k := newKit(t, p)
	t.Run("Type", k.testType)
	if p.Descriptor != "" {
		t.Run("Generated", func(t *testing.T) {
			if err := p.stale(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("Garbage", k.testGarbage)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := k.readCase(t, file)
			k.testVerdict(t, c)
			k.testProfiles(t, c)
			k.testWatch(t, c)
			k.testMutations(t, c)
		})
	}
}

// Decode decodes one resource as a client that knows no other type. If name is empty, the resource has the name in m.
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

// decode determines the name and decodes.
func decode(typ *resource.Descriptor, types *resource.Set, server *bootstrap.Server, name string, body []byte) (resource.Update, error) {
	n, err := resourceName(typ, name, body)
	if err != nil {
		return nil, err
	}
	dc := &resource.DecodeContext{Name: n, Version: version, Server: server, Types: types}
	return typ.Decode(dc, body)
}

// resourceName returns the given name. If it is empty, it returns the name in the resource.
func resourceName(typ *resource.Descriptor, name string, body []byte) (xdstp.Name, error) {
	if name == "" {
		if typ.PeekName == nil {
			return xdstp.Name{}, fmt.Errorf("plugintest: a %s carries no name, and none was given", typ.ShortName())
		}
		var err error
		if name, err = typ.PeekName(body); err != nil {
			return xdstp.Name{}, wire.Unparseable(typ.Name, err)
		}
	}
	return xdstp.Parse(name)
}

// testServer is the server entry of all resources of the kit.
func testServer(t testing.TB) *bootstrap.Server {
	t.Helper()
	s, err := bootstrap.ParseServer([]byte(`{"server_uri": "xds.test:443", "channel_creds": [{"type": "insecure"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
