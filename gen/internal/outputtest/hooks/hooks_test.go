package hooks

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestFields(t *testing.T) {
	part := &testpb.Part{Id: "p"} // there is no box, of which a hook would have something to say
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{
		Name: "n", Text: "text", Numbers: []uint32{1, 2}, Colors: []testpb.Color{testpb.Color_COLOR_BLUE}, Part: part,
		Parts: []*testpb.Part{{Size: 3, Group: 1}}, Choice: &testpb.Thing_Chosen{Chosen: &testpb.Part{Id: "c"}},
		Inner: &testpb.Thing{Part: &testpb.Part{Size: 1}, Choice: &testpb.Thing_Word{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Update{
		Upper:  "TEXT of n",
		Spread: map[string][]time.Duration{"COLOR_UNSPECIFIED": nil, "p": nil, "COLOR_BLUE": {1, 2}},
		All:    &Everything{Name: "n", Part: part},
		Bytes:  "0a0170 5001 text 1",
		Member: new("c"),
		Number: 70_072,
		Parts:  []Part{{Size: 3}},
	}
	if diff := cmp.Diff(want, u, cmpopts.IgnoreUnexported(Update{}), protocmp.Transform()); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}

// A message that says nothing is one nevertheless, and takes the place of another
// member of its oneof; occurrences of a message are one.
func TestEncoded(t *testing.T) {
	chosen := func(fields ...byte) []byte { return append([]byte{0xc2, 0x04, byte(len(fields))}, fields...) }
	word := []byte{0xb2, 0x04, 1, 'w'}
	id, size := []byte{0x0a, 1, 'a'}, []byte{0x50, 1}
	for name, test := range map[string]struct {
		body [][]byte
		want *string
	}{
		"none":            {nil, nil},
		"another":         {[][]byte{chosen(id...), word}, nil},
		"empty":           {[][]byte{chosen()}, new("")},
		"in two parts":    {[][]byte{chosen(id...), chosen(size...)}, new("a")},
		"after another":   {[][]byte{chosen(id...), word, chosen()}, new("")},
		"the last counts": {[][]byte{chosen(id...), chosen(0x0a, 1, 'b')}, new("b")},
	} {
		body := append([]byte{0x0a, 1, 'n', 0x4a, 1, 't'}, slices.Concat(test.body...)...)
		m := new(testpb.Thing)
		if err := proto.Unmarshal(body, m); err != nil {
			t.Fatal(err)
		}
		u, err := plugintest.Decode(t, Type(), "", m)
		if err != nil {
			t.Fatal(err)
		}
		named := u.(*Update)
		again, err := resource.Describe(Type()).Decode(&resource.DecodeContext{Name: named.Name()}, body)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range []*Update{named, again.(*Update)} {
			if diff := cmp.Diff(test.want, u.Member); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}
