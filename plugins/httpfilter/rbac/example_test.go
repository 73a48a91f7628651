package rbac_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
)

func ExampleFilter() {
	f := rbac.Filter()
	fields, _ := structpb.NewStruct(map[string]any{"rules": map[string]any{"policies": map[string]any{"admins": map[string]any{
		"permissions": []any{map[string]any{"any": true}},
	}}}})
	_, err := f.Parse(nil, resource.TypedConfig{Message: f.Config, Fields: fields})
	fmt.Println(err)
	// Output: rules.policies[admins].principals; must not be empty (A41)
}
