// Package plugincase runs cases of resource types in a context in which everything
// is there: all standard types, the built-in extensions, and a bootstrap with
// certificate provider instances.
//
// A file of cases is a txtar archive; each of its files is one case:
//
//	-- the cluster has a type --
//	name: "c"
//	=> type; must be set
//
// It has the resource as text, and the result: ok, or the violations, one on each line. Lines
// before the resource change the context: "# profile: envoy", "# trusted", "# name: xdstp://…".
package plugincase

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

// Run runs the cases of all files in testdata/cases. message makes an empty message of
// the type.
func Run(t *testing.T, typ resource.Type, message func() proto.Message) {
	t.Helper()
	all := readCases(t, message)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, c := range all[file] {
				t.Run(c.name, func(t *testing.T) {
					if len(c.want) == 0 {
						t.Fatal("the case has no line that starts with =>")
					}
					_, err := Decode(t, typ, c.message, options(c.text)...)
					if diff := cmp.Diff(c.want, Verdict(err)); diff != "" {
						t.Errorf("verdict (-want +got):\n%s", diff)
					}
					body, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.message)
					if err != nil {
						t.Fatal(err)
					}
					plugintest.Repeat(t, typ, Context(t, options(c.text)...), body)
				})
			}
		})
	}
}

// A testCase is a file of an archive.
type testCase struct {
	name, text string
	message    proto.Message
	want       []string
}

// readCases reads testdata/cases by the names of the archives.
func readCases(t testing.TB, message func() proto.Message) map[string][]testCase {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of cases, %v", len(files), err)
	}
	all := make(map[string][]testCase)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			text, want := split(string(f.Data))
			m := message()
			if err := prototext.Unmarshal([]byte(text), m); err != nil {
				t.Fatalf("%s: %s: %v", file, f.Name, err)
			}
			all[file] = append(all[file], testCase{f.Name, text, m, want})
		}
	}
	return all
}

// split splits a case into the resource and its expected result.
func split(data string) (text string, want []string) {
	for line := range strings.Lines(data) {
		if w, ok := strings.CutPrefix(line, "=> "); ok {
			want = append(want, strings.TrimSpace(w))
			continue
		}
		text += line
	}
	return text, want
}

// options reads the lines that change the context; to the resource they are comments.
func options(text string) []Option {
	var out []Option
	for line := range strings.Lines(text) {
		option, ok := strings.CutPrefix(line, "# ")
		switch key, value, _ := strings.Cut(strings.TrimSpace(option), ": "); {
		case !ok:
		case key == "profile" && value == "envoy":
			out = append(out, Profile(resource.Envoy))
		case key == "profile" && value == "http":
			out = append(out, Profile(resource.HTTP))
		case key == "trusted":
			out = append(out, Trusted())
		case key == "name":
			out = append(out, Name(value))
		}
	}
	return out
}

// Kit runs the conformance kit on the cases in dir/testdata, with all standard types and
// extensions registered.
func Kit(t *testing.T, p plugintest.Plugin, dir string) {
	t.Helper()
	dc := Context(t)
	typ := *resource.Describe(p.Type)
	decode := typ.Decode
	typ.Decode = func(kit *resource.DecodeContext, body []byte) (resource.Update, error) {
		full := *kit
		full.Bootstrap, full.Types = dc.Bootstrap, dc.Types
		return decode(&full, body)
	}
	p.Type = typ.Handle()
	t.Chdir(dir)
	plugintest.Run(t, p)
}

// An Option changes the context of a case.
type Option func(*config)

type config struct {
	name     string
	profile  resource.Profile
	features string
	extend   func(resource.Registrar)
}

// Name gives the resource another name than the one that its message carries.
func Name(name string) Option { return func(c *config) { c.name = name } }

// Profile reads the resource in another profile than gRPC's.
func Profile(p resource.Profile) Option { return func(c *config) { c.profile = p } }

// Trusted gives the server the feature trusted_xds_server.
func Trusted() Option { return func(c *config) { c.features = `"trusted_xds_server"` } }

// Extend registers additional types and extensions.
func Extend(register func(resource.Registrar)) Option {
	return func(c *config) { c.extend = register }
}

// Decode decodes one message.
func Decode(t testing.TB, typ resource.Type, m proto.Message, opts ...Option) (resource.Update, error) {
	t.Helper()
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return DecodeBytes(Context(t, opts...), typ, body)
}

// Read reads a message from text into m, and decodes it, which must succeed.
func Read[U resource.Update](t testing.TB, typ resource.Type, m proto.Message, text string, opts ...Option) U {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	u, err := Decode(t, typ, m, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return u.(U)
}

// DecodeBytes decodes an encoded message. The context's name is used where it has
// one, and else the one that the message carries.
func DecodeBytes(dc *resource.DecodeContext, typ resource.Type, body []byte) (resource.Update, error) {
	named := *dc
	if named.Name.IsZero() {
		s, err := resource.Describe(typ).PeekName(body)
		if err != nil {
			return nil, err
		}
		if named.Name, err = named.ParseName(s); err != nil {
			return nil, err
		}
	}
	return resource.Describe(typ).Decode(&named, body)
}

// Context returns a context with all standard types, the built-in extensions and
// certificate provider instances.
func Context(t testing.TB, opts ...Option) *resource.DecodeContext {
	t.Helper()
	var c config
	for _, o := range opts {
		o(&c)
	}
	server := `{"server_uri": "xds.test:443", "channel_creds": [{"type": "insecure"}], "server_features": [` + c.features + `]}`
	boot, err := bootstrap.Parse([]byte(`{"xds_servers": [`+server+`], "certificate_providers": {
		"identity": {"plugin_name": "file_watcher", "config": {"certificate_file": "cert.pem", "private_key_file": "key.pem"}},
		"roots": {"plugin_name": "file_watcher", "config": {"ca_certificate_file": "ca.pem"}},
		"broken": {"plugin_name": "file_watcher", "config": {"certificate_file": "cert.pem"}},
		"foreign": {"plugin_name": "nobody_knows"}}}`), bootstrap.WithFederation(true))
	if err != nil {
		t.Fatal(err)
	}
	r := registry.New(registry.WithProfile(c.profile))
	standard.Register(r)
	if c.extend != nil {
		c.extend(r)
	}
	types, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Version: "1", Server: boot.Servers()[0], Bootstrap: boot, Types: types}
	if c.name != "" {
		if dc.Name, err = xdstp.Parse(c.name); err != nil {
			t.Fatal(err)
		}
	}
	return dc
}

// Verdict returns the result of decoding in the form that cases use.
func Verdict(err error) []string {
	if err == nil {
		return []string{"ok"}
	}
	var invalid *resource.ValidationError
	if !errors.As(err, &invalid) {
		return []string{err.Error()}
	}
	var out []string
	for _, v := range invalid.Violations {
		out = append(out, v.String())
	}
	return out
}
