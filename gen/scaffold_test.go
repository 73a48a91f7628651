package gen_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen"
)

// Every commented line of a new descriptor is valid, except for an Any, whose content is unknown.
func TestScaffold(t *testing.T) {
	const own = "github.com/xdsforge/xdsforge/gen/testdata/testpb"
	comment, field := regexp.MustCompile(`(?m)^ {2}# `), regexp.MustCompile(`\n {2}- {?name: `)
	for message, path := range map[string]string{
		"xdsforge.test.v1.Thing":                                own,
		"xdsforge.test.v1.Table":                                own,
		"xdsforge.test.opaque.v1.Hidden":                        own + "/opaquepb",
		"envoy.config.cluster.v3.Cluster":                       "",
		"envoy.config.endpoint.v3.ClusterLoadAssignment.Policy": "",
		"google.protobuf.Struct":                                "",
		"google.protobuf.StringValue":                           "",
		"google.protobuf.Duration":                              "",
		"google.protobuf.Value":                                 "",
		"udpa.type.v1.TypedStruct":                              "",
	} {
		t.Run(message, func(t *testing.T) {
			files, err := gen.Scaffold{Message: message, GoPackage: path, Folder: "internal/outputtest"}.Files(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if filepath.Base(f.Path) != "resource.yaml" {
					continue
				}
				var lines []string
				for line := range strings.Lines(string(f.Data)) {
					if !strings.Contains(line, "any: ") {
						lines = append(lines, comment.ReplaceAllString(line, "  "))
					}
				}
				text := []byte(strings.Join(lines, ""))
				in := gen.Input{Descriptors: []gen.Descriptor{{Path: "internal/outputtest/scalars/resource.yaml", Data: text}}}
				if _, err := gen.Generate(t.Context(), in); err != nil || !field.Match(text) {
					t.Errorf("%v\n%s", err, text)
				}
			}
		})
	}
}
