package oneofs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestCases(t *testing.T) {
	part := &testpb.Part{Id: "p"}
	for name, test := range map[string]struct {
		m      *testpb.Thing
		choice Choice
		shape  Shape
	}{
		"word":   {&testpb.Thing{Choice: &testpb.Thing_Word{}}, Word{}, Plain{}},
		"number": {&testpb.Thing{Choice: &testpb.Thing_Number{Number: 4}}, Number{Value: 4}, Plain{}},
		"chosen": {
			&testpb.Thing{Choice: &testpb.Thing_Chosen{Chosen: &testpb.Part{Id: "c", Aliases: []string{"a"}, Size: 2}}},
			Chosen{ID: "c", Aliases: []string{"a"}, Size: Large{Size: 2}},
			Plain{},
		},
		"round": {&testpb.Thing{Choice: &testpb.Thing_Word{Word: "w"}, Part: part, Color: testpb.Color_COLOR_RED, Flag: true}, Word{Value: "w"}, Round{ID: "p"}},
		"not round": {
			&testpb.Thing{Choice: &testpb.Thing_Word{Word: "w"}, Color: testpb.Color_COLOR_RED, Flag: true},
			Word{Value: "w"},
			Plain{Color: ColorRed},
		},
		"flat": {
			&testpb.Thing{Choice: &testpb.Thing_Word{Word: "w"}, Color: testpb.Color_COLOR_GREEN, Count: 1, Box: &testpb.Box{Label: "b"}},
			Word{Value: "w"},
			Flat{Count: 1, Labels: []string{"b"}},
		},
		"blue": {
			&testpb.Thing{Choice: &testpb.Thing_Word{Word: "w"}, Weight: wrapperspb.UInt32(3), Timeout: durationpb.New(5 * time.Second)},
			Word{Value: "w"},
			Blue{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.m.Name = "n"
			u, err := plugintest.Decode(t, Type(), "", test.m)
			if err != nil {
				t.Fatal(err)
			}
			got := u.(*Update)
			if diff := cmp.Diff(test.choice, got.Choice); diff != "" {
				t.Errorf("Choice (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.shape, got.Shape); diff != "" {
				t.Errorf("Shape (-want +got):\n%s", diff)
			}
			if !got.Equal(&Update{Choice: test.choice, Shape: test.shape}) || got.Equal(&Update{Choice: test.choice}) {
				t.Error("Equal does not compare the cases")
			}
		})
	}
}

// The last member wins, and starts anew unless it was the one before.
func TestLastMember(t *testing.T) {
	encode := func(list ...*testpb.Thing) []byte {
		var out []byte
		for _, m := range list {
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b...)
		}
		return out
	}
	part := func(alias string) *testpb.Thing {
		return &testpb.Thing{Choice: &testpb.Thing_Chosen{Chosen: &testpb.Part{Id: "p", Aliases: []string{alias}}}}
	}
	name, err := xdstp.Parse("n")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		body []byte
		want Choice
	}{
		{encode(part("a"), part("b")), Chosen{ID: "p", Aliases: []string{"a", "b"}}},
		{encode(part("a"), &testpb.Thing{Choice: &testpb.Thing_Word{Word: "w"}}), Word{Value: "w"}},
		{encode(part("a"), &testpb.Thing{Choice: &testpb.Thing_Word{Word: "w"}}, part("b")), Chosen{ID: "p", Aliases: []string{"b"}}},
		{encode(part("a"), &testpb.Thing{Choice: &testpb.Thing_Nothing{Nothing: &testpb.Empty{}}}, part("b")), Chosen{ID: "p", Aliases: []string{"b"}}},
	} {
		u, err := resource.Describe(Type()).Decode(&resource.DecodeContext{Name: name}, test.body)
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(test.want, u.(*Update).Choice); diff != "" {
			t.Errorf("Choice of %x (-want +got):\n%s", test.body, diff)
		}
	}
}
