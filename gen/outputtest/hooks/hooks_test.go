package hooks

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/xdsforge/xdsforge/gen/outputtest/testpb"
	"github.com/xdsforge/xdsforge/plugins/plugintest"
)

func TestFields(t *testing.T) {
	part := &testpb.Part{Id: "p"} // there is no box, of which a hook would have something to say
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{
		Name: "n", Text: "text", Numbers: []uint32{1, 2}, Colors: []testpb.Color{testpb.Color_COLOR_BLUE}, Part: part,
		Parts: []*testpb.Part{{Size: 3, Group: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Update{
		Upper:  "TEXT of n",
		Spread: map[string][]time.Duration{"COLOR_UNSPECIFIED": nil, "p": nil, "COLOR_BLUE": {1, 2}},
		All:    &Everything{Name: "n", Part: part},
		Parts:  []Part{{Size: 3}},
	}
	if diff := cmp.Diff(want, u, cmpopts.IgnoreUnexported(Update{}), protocmp.Transform()); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}
