package files

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/document"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

func standardTypes(t testing.TB) *resource.Set {
	t.Helper()
	r := registry.New()
	standard.Register(r)
	builtin.Register(r)
	types, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func parseFile(t testing.TB, types *resource.Set, name, content string) (names []string, text string) {
	t.Helper()
	d := &Dir{options: Options{Types: types}, types: typesOf(types)}
	f := new(file)
	err := d.parse(f, name, []byte(content))
	list := f.resources
	for _, r := range list {
		names = append(names, r.Name)
	}
	if err != nil {
		text = err.Error()
	}
	return names, text
}

const checkout = `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: checkout
type: EDS
eds_cluster_config:
  eds_config: {ads: {}}
`

const cart = `{
  "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
	"name": "cart", "type": "EDS",
  "edsClusterConfig": {"edsConfig": {"ads": {}}}
}`

func indent(s string) string { return "- " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }

func TestFormats(t *testing.T) {
	any1, err := anypb.New(&clusterv3.Cluster{Name: "binary", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS}})
	if err != nil {
		t.Fatal(err)
	}
	response := &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{any1}}
	binary, err := proto.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	text, err := prototext.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, content string
		want          []string
	}{
		{"one.yaml", checkout, []string{"checkout"}},
		{"documents.yml", checkout + "---\n" + strings.ReplaceAll(checkout, "checkout", "other"), []string{"checkout", "other"}},
		{"list.yaml", indent(checkout), []string{"checkout"}},
		{"response.yaml", "version_info: '1'\nresources:\n" + indent(checkout), []string{"checkout"}},
		{"typed.yaml", "\"@type\": " + responseURL + "\nresources:\n" + indent(checkout), []string{"checkout"}},
		{"one.json", cart, []string{"cart"}},
		{"list.json", "[" + cart + "]", []string{"cart"}},
		{"response.json", `{"resources": [` + cart + `]}`, []string{"cart"}},
		{"empty.yaml", "", nil},
		{"none.yaml", "[]", nil},
		{"null.yaml", "null\n---\n" + checkout, []string{"checkout"}},
		{"null.json", "[null, " + cart + "]", []string{"cart"}},
		{"other.yaml", "\"@type\": type.googleapis.com/google.protobuf.StringValue\nvalue: x\n", nil},
		{"wrapped.yaml", "\"@type\": " + wrapperURL + "\nname: checkout\naliases: [x]\nttl: 5s\nresource:\n  " + strings.ReplaceAll(checkout, "\n", "\n  "), []string{"checkout"}},
		{"anchors.yaml", "- &a\n  " + strings.ReplaceAll(strings.TrimSpace(checkout), "\n", "\n  ") + "\n", []string{"checkout"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			names, problem := parseFile(t, standardTypes(t), test.name, test.content)
			if problem != "" || !slices.Equal(names, test.want) {
				t.Errorf("%q, error %s; want %q", names, problem, test.want)
			}
		})
	}
	for name, content := range map[string]string{"x.pb": string(binary), "x.textproto": string(text), "x.txtpb": string(text)} {
		if names, problem := parseFile(t, nil, name, content); problem != "" || !slices.Equal(names, []string{"binary"}) {
			t.Errorf("%s: %q, error %s", name, names, problem)
		}
	}
}

// A resource that breaks a rule has its error also if the file has no positions.
func TestBrokenResourceOfABinaryFile(t *testing.T) {
	body, err := anypb.New(&clusterv3.Cluster{Name: "bad", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}})
	if err != nil {
		t.Fatal(err)
	}
	binary, err := proto.Marshal(&discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{body}})
	if err != nil {
		t.Fatal(err)
	}
	types := standardTypes(t)
	d := &Dir{options: Options{Types: types}, types: typesOf(types)}
	f := new(file)
	err = d.parse(f, "x.pb", binary)
	broken := f.broken
	key := source.Key{Type: body.GetTypeUrl(), Name: "bad"}
	if err == nil || len(broken) != 1 || !strings.Contains(broken[key], "eds_cluster_config") {
		t.Errorf("errors of resources = %q, %v; want one of the cluster", broken, err)
	}
	if want := `x.pb: "envoy.config.cluster.v3.Cluster" "bad": `; err != nil && !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error = %v, want the name of the resource instead of a position: %s", err, want)
	}
	nameless, err := proto.Marshal(&discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{{TypeUrl: body.GetTypeUrl()}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.parse(new(file), "x.pb", nameless); err == nil || !strings.HasPrefix(err.Error(), "x.pb: name; must be set") {
		t.Errorf("error of a resource without a name = %v", err)
	}
}

// The position of a violation is that of the deepest part of its path that the file has.
func TestFind(t *testing.T) {
	docs, err := readYAML([]byte("a:\n  camelCase:\n    - x: 1\n    - y:\n        z: 2\n  m: {k.l: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]position{
		"":                       {1, 1},
		"other":                  {1, 1},
		"a":                      {1, 1},
		"a.camel_case":           {2, 3},
		"a.camel_case[0]":        {3, 7},
		"a.camel_case[1].y":      {4, 7},
		"a.camel_case[1].y.z":    {5, 9},
		"a.camel_case[1].y.none": {4, 7},
		"a.camel_case[2]":        {2, 3},
		"a.camel_case[-1].y":     {2, 3},
		"a.camel_case[1":         {2, 3},
		`a.m["k.l"]`:             {6, 12},
		`a.m["none"]`:            {6, 3},
	} {
		if got := find(docs[0], path); got != want {
			t.Errorf("find(%q) = %v, want %v", path, got, want)
		}
	}
}

// A file may have list collections of its types, and no value at all. Other scalars are no resources.
func TestValues(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"null.yaml":  {"null\n", ""},
		"empty.yaml": {"", ""},
		"tilde.yaml": {"---\n~\n---\n" + checkout, ""},
		"text.yaml":  {"text\n", "text.yaml:1:1: must be a resource"},
	} {
		if _, problem := parseFile(t, standardTypes(t), name, test.content); !strings.HasPrefix(problem, test.want) || problem != "" && test.want == "" {
			t.Errorf("%s: error %q, want %q", name, problem, test.want)
		}
	}
	types, err := resource.NewSet(&resource.Descriptor{
		Name: "test.Thing", Collection: "test.List", NewShard: func() resource.Shard { return nil },
		Decode: func(*resource.DecodeContext, []byte) (resource.Update, error) { return nil, errors.New("unused") },
	}, &resource.Descriptor{
		Name: "test.Other", NewShard: func() resource.Shard { return nil },
		Decode: func(*resource.DecodeContext, []byte) (resource.Update, error) { return nil, errors.New("unused") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := typesOf(types), map[string]bool{"test.Thing": true, "test.List": true, "test.Other": true}; !maps.Equal(got, want) {
		t.Errorf("types = %v, want %v", got, want)
	}
}

// Every error names its position.
func TestErrors(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"rule.yaml", strings.Replace(checkout, "  eds_config: {ads: {}}\n", "  service_name: x\n", 1), "rule.yaml:4:1: eds_cluster_config.eds_config; must have exactly one of ads, self set when type is EDS (A47)"},
		{"camel.json", strings.Replace(cart, `{"edsConfig": {"ads": {}}}`, `{"serviceName": "x"}`, 1), "camel.json:4:3: eds_cluster_config.eds_config; must have"},
		{"unknown.yaml", checkout + "colour: red\n", "unknown.yaml:6:1: unknown field \"colour\""},
		{"value.yaml", checkout + "connect_timeout:\n  soon\n", "value.yaml:7:3: "},
		{"enum.json", strings.Replace(cart, `"EDS"`, `"XYZ"`, 1), "enum.json:3:26: "},
		{"list.yaml", indent(checkout) + "\n- 7\n", "list.yaml:6:3: must be a resource"},
		{"text.json", `"null"`, "text.json:1:1: must be a resource"},
		{"type.yaml", "name: x\n", "type.yaml:1:1: \"@type\"; must be the type URL"},
		{"syntax.yaml", checkout + "  : :\n- x", "syntax.yaml:"},
		{"syntax.json", "{\n \"a\": [1,}\n", "syntax.json:2:"},
		{"trailing.json", cart + "\n{}", "trailing.json:6:1: the file must have one value"},
		{"merge.yaml", checkout + "<<: [7]\n", "merge.yaml:6:6: a merge key needs a mapping"},
		{"merged.yaml", checkout + "<<: {colour: red}\n", "merged.yaml:6:6: unknown field \"colour\""},
		{"key.yaml", checkout + "? [a]\n: b\n", "key.yaml:6:3: a key must be text"},
		{"deep.yaml", strings.Repeat("[", document.MaxDepth+2) + strings.Repeat("]", document.MaxDepth+2), "deep.yaml:1:202: the values are nested deeper than 200 levels"},
		{"deep.json", strings.Repeat("[", document.MaxDepth+2) + strings.Repeat("]", document.MaxDepth+2), "deep.json:1:202: the values are nested deeper than 200 levels"},
		{"resources.yaml", "resources: {}\n", "resources.yaml:1:12: resources; must be a list"},
		{"wrapper.yaml", "\"@type\": " + wrapperURL + "\nname: x\n", "wrapper.yaml:1:1: resource; must be set"},
		{"name.yaml", strings.Replace(checkout, "name: checkout", "name: ''", 1), "name.yaml:1:1: name; must be set"},
		{"glob.yaml", strings.Replace(checkout, "name: checkout", "name: 'xdstp://a/envoy.config.cluster.v3.Cluster/*'", 1), "glob.yaml:1:1: "},
		{"x.pb", "\xff\xff", "x.pb: must be a DiscoveryResponse"},
		{"x.txtpb", "resources {\n  nonsense: 1\n}", "x.txtpb:2:3: invalid field name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			names, problem := parseFile(t, standardTypes(t), test.name, test.content)
			if !strings.HasPrefix(problem, test.want) {
				t.Errorf("%q, error\n%s\nwant\n%s", names, problem, test.want)
			}
		})
	}
}

// A file has all its errors at once, up to a limit.
func TestAllErrorsOfAFile(t *testing.T) {
	var content strings.Builder
	for i := range maxErrors + 5 {
		fmt.Fprintf(&content, "- {\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: c%d, colour: red}\n", i)
	}
	_, problem := parseFile(t, standardTypes(t), "many.yaml", content.String())
	lines := strings.Split(problem, "\n")
	if len(lines) != maxErrors+1 || !strings.HasPrefix(lines[1], "many.yaml:2:") || lines[maxErrors] != "many.yaml: and 5 more errors" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

// No content makes the parser panic or run for long.
func FuzzParse(f *testing.F) {
	types := standardTypes(f)
	for _, s := range []string{checkout, cart, "[]", "a: &x [*x]", "- &a [1]\n- [*a, *a]", "{\"a\": {", "resources: []"} {
		for _, name := range []string{"x.yaml", "x.json", "x.textproto", "x.pb"} {
			f.Add(name, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if formatOf(name) == nil || len(data) > 1<<16 {
			return
		}
		parseFile(t, types, name, string(data))
	})
}
