package gen

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/cncf/xds/go/udpa/type/v1" // and others, so that cases may have them in an Any
	_ "github.com/cncf/xds/go/xds/type/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// The schema accepts the resources of all test cases that the decoders accept. It rejects those that
// break a rule which the schema has.
func TestResourceSchema(t *testing.T) {
	accepted, rejected, evaluated := 0, 0, 0
	for _, pattern := range []string{"internal/outputtest/*/resource.yaml", "../plugins/*/resource.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		in := Input{}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			in.Descriptors = append(in.Descriptors, Descriptor{Path: path, Data: data})
		}
		checks, err := eachModel(t.Context(), in, func(u *unit, pkg *model.Package) (func() (int, int, int), error) {
			s, err := schema.Of(pkg, u.index.Comments())
			return func() (int, int, int) { return checkCases(t, filepath.Dir(u.in.Path), pkg, s) }, err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range checks {
			yes, no, violations := check()
			accepted, rejected, evaluated = accepted+yes, rejected+no, evaluated+violations
		}
	}
	t.Logf("%d cases are valid, %d break a rule of the schema; an evaluation finds %d violations", accepted, rejected, evaluated)
	if accepted < 40 || rejected < 30 || evaluated < 30 {
		t.Errorf("%d valid cases, %d that break a rule, %d violations; want more", accepted, rejected, evaluated)
	}
}

// checkCases compares the verdicts about the cases of one type.
func checkCases(t *testing.T, folder string, pkg *model.Package, s schema.Schema) (accepted, rejected, evaluated int) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.JSON))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("resource.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("resource.json")
	if err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	index := regexp.MustCompile(`\[[^]]*\]`)
	files, _ := filepath.Glob(filepath.Join(folder, "testdata", "*.txtar"))
	for _, file := range files {
		resource, want := readCase(t, file, pkg)
		if resource == nil {
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(resource))
		if err != nil {
			t.Fatal(err)
		}
		err = compiled.Validate(value)
		broken := slices.ContainsFunc(want, func(v string) bool {
			path, text, _ := strings.Cut(v, "; ")
			path, _, _ = strings.Cut(path, " = ")
			return slices.Contains(s.Rules, index.ReplaceAllString(path, "")+"; "+text)
		})
		verdict := evaluate(t, pkg, resource)
		for _, v := range verdict {
			if !slices.Contains(want, v) {
				t.Errorf("%s: an evaluation reports %s; the decoder reports\n%s", file, v, strings.Join(want, "\n"))
			}
		}
		evaluated += len(verdict)
		switch valid := len(want) == 1 && want[0] == "ok"; {
		case valid && err != nil:
			t.Errorf("%s is valid, but the schema rejects it: %v\n%s", file, err, resource)
		case broken && err == nil:
			t.Errorf("%s breaks a rule, but the schema accepts it:\n%s\n%s", file, strings.Join(want, "\n"), resource)
		case valid:
			accepted++
		case broken:
			rejected++
		}
	}
	return accepted, rejected, evaluated
}

// evaluate returns the violations of a resource that package schema finds without the decoder.
func evaluate(t *testing.T, pkg *model.Package, resource []byte) []string {
	t.Helper()
	var out []string
	message := dynamicpb.NewMessage(pkg.Message.Desc)
	if err := (protojson.UnmarshalOptions{Resolver: protoregistry.GlobalTypes}).Unmarshal(resource, message); err != nil {
		t.Fatal(err)
	}
	if pkg.Update.Rules != nil {
		for _, v := range schema.Evaluate(pkg.Update.Rules, message).Violations {
			out = append(out, v.Text)
		}
	}
	return out
}

// readCase returns the resource of a case with the names of the proto file, and the lines of its want.
// It is nil if the case has messages that are not linked into this test.
func readCase(t *testing.T, file string, pkg *model.Package) (resource []byte, want []string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "want":
			want = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		case "resource.json":
			m := dynamicpb.NewMessage(pkg.Message.Desc)
			if err := (protojson.UnmarshalOptions{Resolver: protoregistry.GlobalTypes}).Unmarshal(f.Data, m); err != nil {
				t.Logf("%s: %v", file, err)
				return nil, nil
			}
			if resource, err = (protojson.MarshalOptions{UseProtoNames: true}).Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	return resource, want
}
