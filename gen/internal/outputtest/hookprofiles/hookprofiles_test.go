package hookprofiles

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

func TestProfiles(t *testing.T) {
	body, err := proto.Marshal(&testpb.Thing{Name: "n", Small: 4, Part: &testpb.Part{Size: 5}})
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
		resource.GRPC:  "small = 4; is seen in profile gRPC, and small = 4; is seen by programs that act",
		resource.HTTP:  "small = 4; is seen in profile HTTP, and small = 4; is seen by programs that act",
		resource.Envoy: "small = 4; is seen in profile Envoy, and part.size = 5; is seen in profile Envoy",
	} {
		types, err := base.Extend(profile)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{body, append(slices.Clip(body), 0xff)} { // the second is no message
			_, err := resource.Describe(Type()).Decode(&resource.DecodeContext{Name: name, Types: types}, b)
			if malformed := len(b) > len(body); err == nil || (err.Error() == want) == malformed {
				t.Errorf("in profile %v: %v; want %q unless malformed (%v)", profile, err, want, malformed)
			}
		}
	}
}
