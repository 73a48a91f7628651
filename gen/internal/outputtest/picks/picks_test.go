package picks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestPick(t *testing.T) {
	red := testpb.Color_COLOR_RED
	for name, test := range map[string]struct {
		m    *testpb.Thing
		want *Update
	}{
		"none": {&testpb.Thing{Parts: []*testpb.Part{{Color: red}, {Group: 2}}}, &Update{RedSize: 5}},
		"first": {
			&testpb.Thing{
				Parts: []*testpb.Part{{Size: 1}, {Color: red, Group: 2, Size: 2, Box: &testpb.Box{Label: "no"}}, {Color: red, Group: 2, Size: 3, Weight: wrapperspb.UInt32(0), Box: &testpb.Box{Label: "l"}}},
				Box:   &testpb.Box{Parts: []*testpb.Part{{Id: "other"}, {Id: "main"}}},
			},
			&Update{RedSize: 2, Main: &Part{ID: "main"}, Weight: "l"},
		},
		"zero": {&testpb.Thing{Parts: []*testpb.Part{{Color: red, Group: 2}, {Color: red, Group: 2, Size: 3}}}, &Update{RedSize: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			test.m.Name = "n"
			u, err := plugintest.Decode(t, Type(), "", test.m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, u.(*Update)); diff != "" {
				t.Errorf("update (-want +got):\n%s", diff)
			}
		})
	}
}
