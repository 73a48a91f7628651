package gen_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/xdsforge/xdsforge/gen"
)

// Generate returns diagnostics for an invalid descriptor, and files for a valid one.
func ExampleGenerate() {
	const head = `version: v1
resource: {message: envoy.config.cluster.v3.Cluster, name: name, sotw: complete}
fields:
`
	for _, field := range []string{
		"  - {name: Service, from: eds_cluster_config.service_nam}\n",
		"  - {name: Service, from: eds_cluster_config.service_name}\n",
	} {
		files, err := gen.Generate(context.Background(), gen.Input{
			Descriptors: []gen.Descriptor{{Path: "resource.yaml", Data: []byte(head + field)}},
		})
		if err != nil {
			fmt.Println(err)
			continue
		}
		for _, f := range files {
			fmt.Println(filepath.Base(f.Path))
		}
	}
	// Output:
	// resource.yaml:4:27: unknown field "service_nam" in Cluster.EdsClusterConfig (did you mean "service_name"?) [XG012]
	// update.gen.go
	// watcher.gen.go
	// publish.gen.go
	// decoder.gen.go
	// shard.gen.go
	// register.gen.go
	// conformance_gen_test.go
}

// Explain describes the code that Generate would write.
func ExampleInput_Explain() {
	text, err := gen.Input{Descriptors: []gen.Descriptor{{
		Path: "internal/outputtest/resource.yaml",
		Data: []byte(`version: v1
resource: {message: envoy.service.runtime.v3.Runtime, name: name, sotw: partial}
fields: [{name: Flags, from: layer}]
rules: [{at: layer, required: true}]
`),
	}}}.Explain(context.Background())
	fmt.Print(string(text), err)
	// Output:
	// package outputtest: envoy.service.runtime.v3.Runtime, named by name
	//
	// Update   envoy.service.runtime.v3.Runtime
	//   Flags  map[string]any  layer
	//
	// rules
	//   layer; must be set
	// <nil>
}
