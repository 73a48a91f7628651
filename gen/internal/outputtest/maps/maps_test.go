package maps

import (
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestValues(t *testing.T) {
	number, err := anypb.New(wrapperspb.UInt32(4))
	if err != nil {
		t.Fatal(err)
	}
	m := &testpb.Table{
		Name: "n", Counts: map[string]uint64{"a": 1}, Blobs: map[string][]byte{"b": {2}},
		Colors:     map[string]testpb.Color{"red": testpb.Color_COLOR_RED, "blue": testpb.Color_COLOR_BLUE},
		Parts:      map[uint32]*testpb.Part{3: {Id: "c", Size: 5, Parts: []*testpb.Part{{Id: "d"}}}},
		Boxes:      map[string]*testpb.Box{"kept": {Label: "l"}, "dropped": {}},
		Timeouts:   map[string]*durationpb.Duration{"t": durationpb.New(time.Second)},
		Times:      map[bool]*timestamppb.Timestamp{true: timestamppb.New(time.Unix(6, 0)), false: timestamppb.New(time.Unix(7, 0))},
		Weights:    map[int64]*wrapperspb.UInt32Value{-8: wrapperspb.UInt32(9)},
		Extensions: map[string]*anypb.Any{"x": number},
		Addresses: map[string]*corev3.Address{"e": {Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "::1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80},
		}}}},
		Settings: map[string]*structpb.Struct{"s": {Fields: map[string]*structpb.Value{"k": structpb.NewBoolValue(true)}}},
		Values:   map[string]*structpb.Value{"v": structpb.NewNumberValue(1.5), "null": structpb.NewNullValue()},
		Value:    structpb.NewStringValue("w"),
		List:     &structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(1)}},
		Several:  []*structpb.Value{structpb.NewBoolValue(false)},
	}
	u, err := plugintest.Decode(t, Type(), "", m)
	if err != nil {
		t.Fatal(err)
	}
	want := &Update{
		Counts: map[string]uint64{"a": 1}, Blobs: map[string][]byte{"b": {2}},
		Colors: map[string]Color{"red": ColorRed, "blue": ColorBlue}, Warm: map[string]Warm{"red": WarmRed, "blue": WarmGreen},
		Parts: map[uint32]Part{3: {ID: "c", Size: 5, Parts: []Inner{{ID: "d"}}}}, Kept: map[string]Kept{"kept": {Label: "l"}},
		Timeouts: map[string]time.Duration{"t": time.Second}, Times: map[bool]time.Time{true: time.Unix(6, 0), false: time.Unix(7, 0)},
		Weights: map[int64]uint32{-8: 9}, Extensions: map[string]Number{"x": {Value: 4}},
		Addresses: map[string]string{"e": "[::1]:80"}, AddrPorts: map[string]netip.AddrPort{"e": netip.MustParseAddrPort("[::1]:80")},
		Settings: map[string]map[string]any{"s": {"k": true}}, Values: map[string]any{"v": 1.5, "null": nil},
		Value: "w", List: []any{1.0}, Several: []any{false}, Total: 5 + 9,
	}
	if diff := cmp.Diff(want, u.(*Update), cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	refs := 0
	for r := range u.Refs() {
		refs++
		if r.Name.String() != "c" {
			t.Errorf("ref %v; want c", r)
		}
	}
	if refs != 1 {
		t.Errorf("%d refs; want 1", refs)
	}
}

// A hook gets the messages of a map, and its error is a violation.
func TestTotal(t *testing.T) {
	_, err := plugintest.Decode(t, Type(), "", &testpb.Table{
		Name: "n", Counts: map[string]uint64{"a": 1}, Value: structpb.NewStringValue("w"),
		Parts:   map[uint32]*testpb.Part{3: {Id: "c", Size: 1}},
		Weights: map[int64]*wrapperspb.UInt32Value{-8: wrapperspb.UInt32(math.MaxUint32)},
	})
	if err == nil || !strings.Contains(err.Error(), "the total must be at most 4294967295") {
		t.Errorf("error %v", err)
	}
}
