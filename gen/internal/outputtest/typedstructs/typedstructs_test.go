package typedstructs

import (
	"strings"
	"testing"
	"time"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
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

func value(t *testing.T, fields map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The message itself and both kinds of TypedStruct are one.
func TestOpened(t *testing.T) {
	const url = "type.googleapis.com/xdsforge.test.v1.Part"
	json := value(t, map[string]any{"id": "a", "timeout": "1.5s"})
	for name, a := range map[string]*anypb.Any{
		"message": open(t, &testpb.Part{Id: "a", Timeout: durationpb.New(1500 * time.Millisecond)}),
		"xds":     open(t, &xdsv3.TypedStruct{TypeUrl: url, Value: json}),
		"udpa":    open(t, &udpav1.TypedStruct{TypeUrl: url, Value: json}),
	} {
		t.Run(name, func(t *testing.T) {
			u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{
				Name: "n", Extension: a, Extensions: []*anypb.Any{a, a}, Inner: &testpb.Thing{Extension: a},
			})
			if err != nil {
				t.Fatal(err)
			}
			part := Part{ID: "a", Timeout: 1500 * time.Millisecond}
			want := &Update{Part: &part, Parts: []Part{part, part}, Either: Small{ID: "a"}}
			if diff := cmp.Diff(want, u.(*Update)); diff != "" {
				t.Errorf("update (-want +got):\n%s", diff)
			}
		})
	}
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Inner: &testpb.Thing{Extension: open(t, wrapperspb.String("b"))}})
	if err != nil || u.(*Update).Either != (Text{Value: "b"}) {
		t.Errorf("Decode = %v, %v; want the other case", u, err)
	}
}

// A field that the message lacks is told of.
func TestUnknownField(t *testing.T) {
	a := open(t, &xdsv3.TypedStruct{TypeUrl: "x/xdsforge.test.v1.Part", Value: value(t, map[string]any{"no_such": 1})})
	_, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Extension: a})
	if err == nil || !strings.Contains(err.Error(), "extension.value; not a xdsforge.test.v1.Part: ") {
		t.Errorf("error %v; want one about extension.value", err)
	}
}
