package wellknown

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func TestValues(t *testing.T) {
	born := time.Date(2020, 2, 29, 1, 2, 3, 4, time.UTC)
	for name, test := range map[string]struct {
		m    *testpb.Thing
		want *Update
	}{
		"absent": {
			&testpb.Thing{Parts: []*testpb.Part{{}}},
			&Update{Patience: 90 * time.Second, Share: 1, Enabled: true, Alias: "n", Score: 2.5},
		},
		"zero": {
			&testpb.Thing{
				Timeout: durationpb.New(0), Weight: wrapperspb.UInt32(0), Enabled: wrapperspb.Bool(false),
				Alias: wrapperspb.String(""), Score: wrapperspb.Double(0), Born: timestamppb.New(time.Unix(0, 0)), Settings: &structpb.Struct{},
			},
			&Update{
				Limit: new(time.Duration(0)), Chosen: new(uint32(0)), Alias: "n", Born: time.Unix(0, 0), Died: new(time.Unix(0, 0)),
				Settings: map[string]any{}, PartWeights: []uint32{0},
			},
		},
		"values": {
			&testpb.Thing{
				Timeout: durationpb.New(time.Second), Timeouts: []*durationpb.Duration{durationpb.New(1), durationpb.New(2)},
				Born: timestamppb.New(born), Births: []*timestamppb.Timestamp{timestamppb.New(born)},
				Settings: &structpb.Struct{Fields: map[string]*structpb.Value{"k": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(1)}})}},
				Weight:   wrapperspb.UInt32(7), Enabled: wrapperspb.Bool(true), Alias: wrapperspb.String("a"), Score: wrapperspb.Double(1),
				Weights: []*wrapperspb.UInt32Value{wrapperspb.UInt32(8), wrapperspb.UInt32(9)},
				Parts:   []*testpb.Part{{Weight: wrapperspb.UInt32(1)}, {Timeout: durationpb.New(5)}, {Weight: wrapperspb.UInt32(2)}},
			},
			&Update{
				Timeout: time.Second, Patience: time.Second, Limit: new(time.Second), Timeouts: []time.Duration{1, 2}, PartTimeouts: []time.Duration{5},
				Born: born, Died: new(born), Births: []time.Time{born}, Settings: map[string]any{"k": []any{1.0}},
				Weight: 7, Share: 7, Chosen: new(uint32(7)), Enabled: true, Alias: "a", Score: 1, Weights: []uint32{8, 9}, PartWeights: []uint32{7, 1, 2},
			},
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

func TestMalformed(t *testing.T) {
	_, err := plugintest.Decode(t, Type(), "", &testpb.Thing{
		Name:     "n",
		Timeout:  &durationpb.Duration{Seconds: 1, Nanos: -1},
		Timeouts: []*durationpb.Duration{durationpb.New(1), {Seconds: 1 << 62}, {Seconds: 315_576_000_001}},
		Born:     &timestamppb.Timestamp{Seconds: 1 << 40},
	})
	const want = `timeout = 1s; must be a valid google.protobuf.Duration, and ` +
		`timeout = 1s; must be a valid google.protobuf.Duration, and ` +
		`timeout = 1s; must be a valid google.protobuf.Duration, and ` +
		`timeouts[1] = 4611686018427387904s; must be a valid google.protobuf.Duration, and ` +
		`timeouts[2] = 315576000001s; must be a valid google.protobuf.Duration, and ` +
		`born = 1099511627776s; must be a time between the years 1 and 9999, and ` +
		`born = 1099511627776s; must be a time between the years 1 and 9999`
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}
