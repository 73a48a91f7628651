package nested

import (
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestValues(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{
		Name: "n", Tags: []string{"t"},
		Part:  &testpb.Part{Id: "a", Group: 1},
		Inner: &testpb.Thing{Box: &testpb.Box{Part: &testpb.Part{Id: "b"}}},
		Box:   &testpb.Box{Label: "l"},
		Parts: []*testpb.Part{
			{Id: "c", Weight: wrapperspb.UInt32(2), Parts: []*testpb.Part{{Id: "d", Timeout: durationpb.New(time.Second)}}},
			{Id: "e", Weight: wrapperspb.UInt32(0), Aliases: []string{"x"}},
			{Id: "f", Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: "h"}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Update{
		Value: ID{ID: "a", Group: 1}, Pointer: &ID{ID: "a", Group: 1}, Deep: ID{ID: "b"}, Here: Summary{Tags: []string{"t"}, Box: "l"},
		Parts: []Part{
			{ID: "c", Timeout: 3 * time.Second, Parts: []Part{{ID: "d", Timeout: time.Second}}},
			{ID: "e", Timeout: 3 * time.Second},
			{ID: "f", Timeout: 3 * time.Second},
		},
		Flat:    []ID{{ID: "a", Group: 1}, {ID: "d"}},
		Heavy:   []Heavy{{ID: "c", Weight: 2}},
		Located: []Located{{Address: "h:0"}},
		Named:   []Named{{ID: "e", Aliases: []string{"x"}}},
	}
	if diff := cmp.Diff(want, u.(*Update)); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	if _, ok := map[ID]bool{{ID: "a", Group: 1}: true}[want.Value]; !ok {
		t.Error("a comparable struct must be a key")
	}
}

// Nothing is mixed up however deep a path leads.
func TestDeep(t *testing.T) {
	address := &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: "h"}}}
	lowest := &testpb.Part{Address: address, Box: &testpb.Box{Part: &testpb.Part{Id: "low"}}}
	in := func(parts ...*testpb.Part) *testpb.Part { return &testpb.Part{Parts: parts} }
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Parts: []*testpb.Part{in(in(), in(in(), in(lowest)))}})
	if err != nil {
		t.Fatal(err)
	}
	got := u.(*Update)
	if diff := cmp.Diff([]Part{{ID: "low", Timeout: 3 * time.Second}}, got.Low); diff != "" {
		t.Errorf("Low (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"h:0"}, got.Addresses); diff != "" {
		t.Errorf("Addresses (-want +got):\n%s", diff)
	}
	address.GetSocketAddress().PortSpecifier = &corev3.SocketAddress_PortValue{PortValue: 1 << 20}
	_, err = plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n", Parts: []*testpb.Part{in(in(), in(in(), in(lowest)))}})
	const want = "parts[0].parts[1].parts[1].parts[0].address.socket_address.port_value = 1048576; must be at most 65535"
	if err == nil || err.Error() != want {
		t.Errorf("error %v; want %s", err, want)
	}
}

func TestAbsent(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &testpb.Thing{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	if !u.(*Update).Equal(&Update{}) {
		t.Errorf("update = %+v; must be zero", u)
	}
}
