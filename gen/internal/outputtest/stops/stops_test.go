package stops

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestFields(t *testing.T) {
	parts := []*testpb.Part{
		{Id: "a", Aliases: []string{"x"}, Timeout: durationpb.New(1)},
		{Id: "b", Weight: wrapperspb.UInt32(1), Timeout: durationpb.New(2)},
	}
	read := []Part{{ID: "a", Aliases: []string{"x"}}, {ID: "b", Timeout: 2 * time.Nanosecond}}
	kept := []*testpb.Part{{Id: "a", Group: 1}, {Id: "b"}, {Group: 2}}
	for name, test := range map[string]struct {
		m    *testpb.Thing
		want *Update
	}{
		"all": {
			&testpb.Thing{Text: "t", Parts: parts, Inner: &testpb.Thing{Part: parts[1]}, Choice: &testpb.Thing_Word{Word: ""}, Update: kept},
			&Update{Text: "t", Parts: read, One: &read[1], Kept: []Kept{{ID: "a", Group: 1}, {Group: 2}}},
		},
		"conditions do not hold": {
			&testpb.Thing{Text: "t", Parts: parts, Part: &testpb.Part{}, Inner: &testpb.Thing{Part: parts[1]}, Choice: &testpb.Thing_Number{}},
			&Update{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.m.Name = "n"
			u, err := plugintest.Decode(t, Type(), "", test.m)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, u.(*Update), cmpopts.IgnoreUnexported(Update{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("update (-want +got):\n%s", diff)
			}
		})
	}
}
