package opaque

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb/opaquepb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestValues(t *testing.T) {
	m := opaquepb.Hidden_builder{
		Name: "n", Maybe: new(uint32(1)),
		Many:   []*opaquepb.Hidden{opaquepb.Hidden_builder{Word: new("v")}.Build()},
		Chosen: opaquepb.Hidden_builder{Name: "c"}.Build(),
		Kind:   opaquepb.Kind_KIND_ONE.Enum(),
	}.Build()
	u, err := plugintest.Decode(t, Type(), "", m)
	if err != nil {
		t.Fatal(err)
	}
	want := &Update{Maybe: new(uint32(1)), Deep: 3, Words: []string{"v"}, Kind: KindOne, Choice: Chosen{Name: "c"}}
	if diff := cmp.Diff(want, u.(*Update)); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}
