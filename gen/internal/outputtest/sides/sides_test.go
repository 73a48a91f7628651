package sides

import (
	"fmt"
	"strings"
	"testing"

	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

func packed(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func decodeIn(t *testing.T, profile resource.Profile, m *testpb.Thing) (*Update, error) {
	t.Helper()
	set, err := resource.NewSet(resource.Describe(Type()))
	if err != nil {
		t.Fatal(err)
	}
	if set, err = set.Extend(profile); err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	name, err := xdstp.Parse("n")
	if err != nil {
		t.Fatal(err)
	}
	u, err := resource.Describe(Type()).Decode(&resource.DecodeContext{Name: name, Types: set}, body)
	if err != nil {
		return nil, err
	}
	return u.(*Update), nil
}

// A rule may be about one side only. A part of the box is read for both.
func TestRulesOfSides(t *testing.T) {
	parts := []*testpb.Part{{Id: "p"}}
	sized := func(size uint32) *testpb.Part { return &testpb.Part{Id: "p", Size: size} }
	for _, test := range []struct {
		m    *testpb.Thing
		want string
	}{
		{&testpb.Thing{Part: sized(1), Box: &testpb.Box{Part: sized(1)}}, "<nil>"},
		{&testpb.Thing{Part: sized(2)}, "part.size = 2; must be at most 1"},
		{&testpb.Thing{Box: &testpb.Box{Part: sized(2)}}, "box.part.size = 2; must be at most 1"},
		{&testpb.Thing{Box: &testpb.Box{Part: sized(3)}}, "box.part.size = 3; must be at most 2, and box.part.size = 3; must be at most 1"},
	} {
		test.m.Name, test.m.Parts = "n", parts
		if _, err := decodeIn(t, resource.GRPC, test.m); fmt.Sprint(err) != test.want {
			t.Errorf("%v: %v; want %s", test.m, err, test.want)
		}
	}
}

// Rules about the elements of one list can be about different sides.
func TestRulesOfElements(t *testing.T) {
	for want, aliases := range map[string][]string{"<nil>": nil, "parts[0].aliases; must have at most 1 element": {"a", "b"}} {
		m := &testpb.Thing{Name: "n", Parts: []*testpb.Part{{Id: "p", Aliases: aliases}}}
		if _, err := decodeIn(t, resource.GRPC, m); fmt.Sprint(err) != want {
			t.Errorf("%v: %v; want %s", aliases, err, want)
		}
	}
}

// Sides hold below a struct, and until another struct says its own.
func TestSides(t *testing.T) {
	part := &testpb.Part{Id: "p"}
	u, err := decodeIn(t, resource.GRPC, &testpb.Thing{Name: "n", Part: part, Box: &testpb.Box{Part: part}, Parts: []*testpb.Part{{Id: "a"}, {Id: "abc"}, {Id: "ab"}}})
	if err != nil {
		t.Fatal(err)
	}
	client, server := Named{"p", resource.ClientSide}, Named{"p", resource.ServerSide}
	want := &Update{
		Outside: client, Inside: Served{Part: server, Client: Back{Part: client}},
		Parts: []Named{{"a", resource.ClientSide}, {"abc", resource.ClientSide}, {"ab", resource.ClientSide}}, Longest: "abc",
	}
	if diff := cmp.Diff(want, u, cmpopts.IgnoreUnexported(Update{})); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}

// In one profile, another message is no value; in the others, it is a violation.
func TestOthers(t *testing.T) {
	other, part := packed(t, wrapperspb.UInt32(1)), packed(t, &testpb.Part{Id: "p"})
	typed := packed(t, &xdsv3.TypedStruct{
		TypeUrl: "x/xdsforge.test.v1.Part",
		Value:   &structpb.Struct{Fields: map[string]*structpb.Value{"id": structpb.NewStringValue("p")}},
	})
	parts := []*testpb.Part{{Id: "a"}}
	const must = "must be a xdsforge.test.v1.Part"
	for _, m := range []*testpb.Thing{
		{Name: "n", Parts: parts, Extension: other},
		{Name: "n", Parts: parts, Extensions: []*anypb.Any{part, other}},
	} {
		for _, profile := range []resource.Profile{resource.GRPC, resource.HTTP} {
			if _, err := decodeIn(t, profile, m); err == nil || !strings.Contains(err.Error(), must) {
				t.Errorf("%v in profile %v: %v", m, profile, err)
			}
		}
		u, err := decodeIn(t, resource.Envoy, m)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m.GetExtension(), u.Other, protocmp.Transform()); diff != "" || u.One != nil || len(u.Each) != max(0, len(m.GetExtensions())-1) {
			t.Errorf("%v in profile Envoy: %+v (-want +got):\n%s", m, u, diff)
		}
	}
	m := &testpb.Thing{Name: "n", Parts: parts, Inner: &testpb.Thing{Extension: other}}
	for _, profile := range []resource.Profile{resource.Envoy, resource.HTTP} {
		if _, err := decodeIn(t, profile, m); err == nil || !strings.Contains(err.Error(), must) {
			t.Errorf("what may be another message in gRPC, in profile %v: %v", profile, err)
		}
	}
	if u, err := decodeIn(t, resource.GRPC, m); err != nil || u.Strict != nil {
		t.Errorf("what may be another message in gRPC: %+v, %v", u, err)
	}
	for _, a := range []*anypb.Any{part, typed} {
		for _, profile := range []resource.Profile{resource.GRPC, resource.Envoy} {
			u, err := decodeIn(t, profile, &testpb.Thing{Name: "n", Parts: parts, Extension: a})
			if err != nil || u.One == nil || u.One.ID != "p" || u.Other != nil {
				t.Errorf("%v in profile %v: %+v, %v", a, profile, u, err)
			}
		}
	}
}
