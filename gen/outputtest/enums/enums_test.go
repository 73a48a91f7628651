package enums

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsforge/xdsforge/gen/outputtest/testpb"
	"github.com/xdsforge/xdsforge/plugins/plugintest"
)

func TestValues(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{
		Name: "n", Color: testpb.Color_COLOR_GREEN, Colors: []testpb.Color{1, 2}, Part: &testpb.Part{Color: testpb.Color_COLOR_BLUE},
		Parts: []*testpb.Part{{Color: testpb.Color_COLOR_BLUE}, {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Update{
		Color: ColorGreen, Warm: WarmRed, Primary: PrimaryBlue,
		Colors: []Color{ColorRed, ColorGreen, ColorBlue, ColorUnspecified},
	}
	if diff := cmp.Diff(want, u.(*Update)); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	if got := ColorGreen.String(); got != "COLOR_GREEN" {
		t.Errorf("ColorGreen is called %q", got)
	}
}
