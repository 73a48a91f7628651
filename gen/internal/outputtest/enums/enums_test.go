package enums

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
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
		Color: ColorGreen, Warm: WarmRed, Primary: PrimaryBlue, Preferred: ColorGreen, Maybe: ColorBlue,
		Colors: []Color{ColorRed, ColorGreen, ColorBlue, ColorUnspecified},
	}
	if diff := cmp.Diff(want, u.(*Update)); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	if got := ColorGreen.String(); got != "COLOR_GREEN" {
		t.Errorf("ColorGreen is called %q", got)
	}
}

// The default of an enum counts where its number is zero, or, where that can be
// told, absent.
func TestDefaults(t *testing.T) {
	for _, test := range []struct {
		m                *testpb.Thing
		preferred, maybe Color
	}{
		{&testpb.Thing{}, ColorGreen, ColorBlue},
		{&testpb.Thing{Color: testpb.Color_COLOR_RED, MaybeColor: testpb.Color_COLOR_RED.Enum()}, ColorRed, ColorRed},
		{&testpb.Thing{MaybeColor: testpb.Color_COLOR_UNSPECIFIED.Enum()}, ColorGreen, ColorUnspecified},
	} {
		test.m.Name = "n"
		u, err := plugintest.Decode(t, Type(), "", test.m)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.(*Update); got.Preferred != test.preferred || got.Maybe != test.maybe {
			t.Errorf("%v gives %v and %v; want %v and %v", test.m, got.Preferred, got.Maybe, test.preferred, test.maybe)
		}
	}
}
