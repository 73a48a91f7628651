package nameless

import (
	"testing"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestWrapper(t *testing.T) {
	m := &testpb.Nameless{Value: 4}
	if _, err := plugintest.Decode(t, Type(), "", m); err == nil {
		t.Error("a message without a name was decoded without one")
	}
	u, err := plugintest.Decode(t, Type(), "n", m)
	if err != nil {
		t.Fatal(err)
	}
	if got := u.(*Update); got.Value != 4 || got.Name().String() != "n" {
		t.Errorf("update = %d, name %q", got.Value, got.Name())
	}
}
