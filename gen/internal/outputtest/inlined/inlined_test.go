package inlined

import (
	"testing"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestTypeIsNotRegistered(t *testing.T) {
	_, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Part: &testpb.Part{Id: "p"}})
	const want = "part; cannot be read, unknown resource type xdsforge.test.v1.Part; register its plugin"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestAbsent(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Text: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if got := u.(*Update); got.Part != nil || got.Where != (Elsewhere{Name: "elsewhere"}) {
		t.Errorf("update = %+v; must have no part, and another resource's name", got)
	}
}
