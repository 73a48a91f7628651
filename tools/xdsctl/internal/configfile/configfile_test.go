package configfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/source/document"
)

func read(t testing.TB, name, text string) []Item {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	items, err := Reader{Types: new(Types)}.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// problems returns the problems of items as text.
func problems(items []Item) string {
	var out []string
	for _, i := range items {
		for _, p := range i.Problems {
			out = append(out, fmt.Sprintf("%d:%d %s; %s", p.Line, p.Column, p.Path, p.Rule))
		}
	}
	return strings.Join(out, "\n")
}

// The same cluster in each syntax is the same resource.
func TestFormats(t *testing.T) {
	c := &clusterv3.Cluster{Name: "c 😀", ConnectTimeout: nil}
	body, err := proto.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := &anypb.Any{TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Value: body}
	inner, err := anypb.New(&discoveryv3.Resource{Name: "c 😀", Version: "7", Resource: wrapped})
	if err != nil {
		t.Fatal(err)
	}
	binary, err := proto.Marshal(&discoveryv3.DiscoveryResponse{VersionInfo: "1", Resources: []*anypb.Any{inner}})
	if err != nil {
		t.Fatal(err)
	}
	const cluster = `"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "c \ud83d\ude00"`
	for _, tt := range []struct{ file, text, name, version, path string }{
		{"a.yaml", "'@type': type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: c 😀\n", "", "", ""},
		{"a.json", "{" + cluster + "}", "", "", ""},
		{"a.json", `{"versionInfo": "1", "resources": [{` + cluster + `}]}`, "", "1", "resources[0]"},
		{"a.json", `{"system_version_info": "1", "resources": [{"name": "c 😀", "version": "7", "resource": {` + cluster + `}}]}`, "c 😀", "7", "resources[0].resource"},
		{"a.json", `{"name": "c 😀", "version": "7", "resource": {` + cluster + `}}`, "c 😀", "7", "resource"},
		{"a.txtpb", "# proto-message: envoy.config.cluster.v3.Cluster\n" + prototext.Format(c), "", "", ""},
		{"a.pb", string(binary), "c 😀", "7", "resources[0].resource"},
	} {
		items := read(t, tt.file, tt.text)
		if len(items) != 1 || problems(items) != "" {
			t.Errorf("%s: %d items, %s; want one without problems", tt.text, len(items), problems(items))
			continue
		}
		i := items[0]
		got := new(clusterv3.Cluster)
		if err := i.Resource.UnmarshalTo(got); err != nil || !proto.Equal(got, c) {
			t.Errorf("%s: %v, %v; want %v", tt.text, got, err, c)
		}
		if i.Name != tt.name || i.Version != tt.version || i.Path != tt.path {
			t.Errorf("%s: name %q, version %q, path %q; want %q, %q, %q", tt.text, i.Name, i.Version, i.Path, tt.name, tt.version, tt.path)
		}
	}
}

func TestYAML(t *testing.T) {
	items := read(t, "a.yaml", `
base: &base {type: EDS, alt_stat_name: "1"}
"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
<<: *base
name: c
alt_stat_name: own
per_connection_buffer_limit_bytes: 0x10
ignore_health_on_host_removal: true
dns_failure_refresh_rate: ~
`)
	got := new(clusterv3.Cluster)
	if len(items) != 1 || !strings.HasPrefix(problems(items), `2:1 base; unknown field "base"`) {
		t.Fatalf("%d items: %s; want one with an unknown field", len(items), problems(items))
	}
	items = read(t, "a.yaml", `
"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
<<: [{type: EDS, alt_stat_name: "1"}, {name: other, type: STATIC}]
name: c
alt_stat_name: own
per_connection_buffer_limit_bytes: 0x10
ignore_health_on_host_removal: true
`)
	if problems(items) != "" {
		t.Fatal(problems(items))
	}
	if err := items[0].Resource.UnmarshalTo(got); err != nil {
		t.Fatal(err)
	}
	if got.GetName() != "c" || got.GetType() != clusterv3.Cluster_EDS || got.GetAltStatName() != "own" ||
		got.GetPerConnectionBufferLimitBytes().GetValue() != 16 || !got.GetIgnoreHealthOnHostRemoval() {
		t.Errorf("cluster = %v", got)
	}
}

// Positions follow the decoder's paths, in both spellings of names and through an Any.
func TestPosition(t *testing.T) {
	items := read(t, "a.yaml", `"@type": type.googleapis.com/envoy.config.listener.v3.Listener
name: l
apiListener:
  api_listener:
    "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
    http_filters:
    - name: a
    - name: b
      typed_config: {"@type": type.googleapis.com/google.protobuf.Empty}
    routeConfig:
      virtual_hosts:
      - name: v
        typed_per_filter_config: {"x.y": {"@type": type.googleapis.com/google.protobuf.Empty}}
`)
	for path, want := range map[string]string{
		"":     "1:1",
		"name": "2:7",
		"api_listener.api_listener.http_filters[1]":                                                  "8:7",
		"api_listener.api_listener.http_filters[1].typed_config":                                     "9:21",
		"api_listener.http_filters[1].typed_config.rules":                                            "9:21",
		"api_listener.api_listener.route_config.virtual_hosts[0].typed_per_filter_config[x.y]":       "13:42",
		`api_listener.api_listener.route_config.virtual_hosts[0].typed_per_filter_config["x.y"].foo`: "13:42",
		"api_listener.api_listener.http_filters[9]":                                                  "7:5",
		"nosuch.field":   "1:1",
		"..[[]":          "1:1",
		"name[0].x[\"]y": "2:7",
	} {
		line, column := items[0].Position(path)
		if got := fmt.Sprintf("%d:%d", line, column); got != want {
			t.Errorf("Position(%s) = %s; want %s", path, got, want)
		}
	}
}

// Files that cost more than their size have bounds, and errors that name them.
func TestBounds(t *testing.T) {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i, i, i, i, i)
	}
	for _, tt := range []struct{ name, file, text, rule string }{
		{"aliases", "a.yaml", laughs, "more than 4000000 values"},
		{"depth of YAML", "a.yaml", strings.Repeat("[", document.MaxDepth+2) + strings.Repeat("]", document.MaxDepth+2), "deeper than 200 levels"},
		{"depth of JSON", "a.json", strings.Repeat("[", document.MaxDepth+2) + strings.Repeat("]", document.MaxDepth+2), "deeper than 200 levels"},
		{"a cycle", "a.yaml", "a: &a [*a]", ""},
		{"cut off", "a.json", `{"a": [`, "unexpected end of the file"},
		{"a list", "a.yaml", "[]", "must be a mapping"},
		{"many errors", "a.yaml", "'@type': type.googleapis.com/envoy.config.cluster.v3.Cluster\n" + manyFields(50), "unknown field"},
	} {
		got := problems(read(t, tt.file, tt.text))
		if got == "" || !strings.Contains(got, tt.rule) {
			t.Errorf("%s: %.200q; want %q", tt.name, got, tt.rule)
		}
		if n := strings.Count(got, "\n") + 1; n > maxProblems {
			t.Errorf("%s: %d problems; want at most %d", tt.name, n, maxProblems)
		}
	}
	path := filepath.Join(t.TempDir(), "large.yaml")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(MaxSize + 1); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := (Reader{Types: new(Types)}).ReadFile(path); err == nil || !strings.Contains(err.Error(), "must be at most that") {
		t.Errorf("a file above the limit: %v", err)
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d: 1\n", i)
	}
	return b.String()
}

// No file makes the reader panic, and each problem has a text.
func FuzzReadFile(f *testing.F) {
	f.Add("a.yaml", "'@type': type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: &a c\nx: *a\n<<: {y: 1}")
	f.Add("a.json", `{"resources": [{"@type": "x/envoy.config.cluster.v3.Cluster"}, {"@type": "x/acme.Thing", "a": 1}]}`)
	f.Add("a.txtpb", "version_info: 'x' resources { [x/acme.Thing] { } }")
	f.Add("a.pb", "\x0a\x01x")
	f.Add("a.yaml", "xds_servers: [{server_uri: 1}]")
	f.Fuzz(func(t *testing.T, name, text string) {
		switch filepath.Ext(name) {
		case ".json", ".yaml", ".txtpb", ".pb":
			name = "a" + filepath.Ext(name)
		default:
			name = "a.yaml"
		}
		for _, i := range read(t, name, text) {
			for _, p := range i.Problems {
				if p.Rule == "" {
					t.Errorf("a problem without a text: %+v", p)
				}
				i.Position(p.Path)
			}
			i.Position(text)
			i.PositionOf(text)
			i.OwnName()
		}
	})
}
