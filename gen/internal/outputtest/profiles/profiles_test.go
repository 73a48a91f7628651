package profiles

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// A rule of programs that act on resources holds in profiles gRPC and HTTP.
func TestProfiles(t *testing.T) {
	const acting, http = "count = 9; must be at most 7", "small = 9; must be at most 8"
	body, err := proto.Marshal(&testpb.Thing{Name: "n", Text: "t", Count: 9, Small: 9})
	if err != nil {
		t.Fatal(err)
	}
	name, err := xdstp.Parse("n")
	if err != nil {
		t.Fatal(err)
	}
	base, err := resource.NewSet(resource.Describe(Type()))
	if err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[resource.Profile]string{
		resource.GRPC: acting, resource.HTTP: acting + ", and " + http, resource.Envoy: "",
	} {
		types, err := base.Extend(profile)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := resource.Describe(Type()).Decode(&resource.DecodeContext{Name: name, Types: types}, body); err != nil {
			got = strings.TrimSpace(err.Error())
		}
		if got != want {
			t.Errorf("in profile %v: %q, want %q", profile, got, want)
		}
	}
}
