package anys

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func open(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestValues(t *testing.T) {
	for name, test := range map[string]struct {
		m    *testpb.Thing
		want *Update
	}{
		"absent": {&testpb.Thing{}, &Update{}},
		"values": {
			&testpb.Thing{
				Extension:  open(t, wrapperspb.UInt32(4)),
				Extensions: []*anypb.Any{open(t, wrapperspb.UInt32(0)), open(t, wrapperspb.UInt32(5))},
				Inner:      &testpb.Thing{Extension: open(t, wrapperspb.UInt32(6)), Inner: &testpb.Thing{Extension: open(t, wrapperspb.Double(1.5))}},
			},
			&Update{Value: Number{Value: 4}, Pointer: &Number{Value: 6}, Each: []Kept{{Value: 5}}, Alone: Double{Value: 1.5}},
		},
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

func TestSeveral(t *testing.T) {
	for _, test := range []struct {
		m    proto.Message
		want Several
	}{{wrapperspb.String("s"), Text{Text: "s"}}, {wrapperspb.Bool(true), Yes{Yes: true}}} {
		inner := &testpb.Thing{Extension: open(t, test.m), Flag: true}
		m := &testpb.Thing{Name: "n", Inner: &testpb.Thing{Inner: &testpb.Thing{Inner: inner}}}
		u, err := plugintest.Decode(t, Type(), "", m)
		if err != nil {
			t.Error(err)
		} else if got := u.(*Update).Several; got != test.want {
			t.Errorf("Several of %v = %v; want %v", test.m, got, test.want)
		}
	}
}
