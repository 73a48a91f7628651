package fault

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestVerdicts reads configurations as JSON, at the edges of the ranges that A33 allows.
func TestVerdicts(t *testing.T) {
	code := func(c uint32) Config { return Config{Abort: &Abort{Code: c}} }
	status := func(s, c uint32) Config { return Config{Abort: &Abort{Code: c, Status: s}} }
	for text, want := range map[string]struct {
		config Config
		err    string
	}{
		`{"delay": {"fixed_delay": "0s"}}`:            {Config{Delay: &Delay{}}, ""},
		`{"delay": {"fixed_delay": "-0.000000001s"}}`: {Config{}, "delay.fixed_delay = -1ns; must be at least 0s (A33)"},
		`{"delay": {}}`:                   {Config{}, "delay; must have exactly one of fixed_delay, header_delay set (A33)"},
		`{"abort": {}}`:                   {Config{}, "abort; must have exactly one of http_status, grpc_status, header_abort set (A33)"},
		`{"abort": {"http_status": 199}}`: {Config{}, "abort.http_status = 199; must be between 200 and 599 (A33)"},
		`{"abort": {"http_status": 200}}`: {status(200, 2), ""},
		`{"abort": {"http_status": 599}}`: {status(599, 2), ""},
		`{"abort": {"http_status": 600}}`: {Config{}, "abort.http_status = 600; must be between 200 and 599 (A33)"},
		`{"abort": {"http_status": 404}}`: {status(404, 12), ""},
		`{"abort": {"grpc_status": 0}}`:   {code(0), ""},
		`{"abort": {"grpc_status": 16}}`:  {code(16), ""},
		`{"abort": {"grpc_status": 17}}`:  {Config{}, "abort.grpc_status = 17; must be a gRPC status code (A33)"},
		`{"abort": {"header_abort": {}, "percentage": {"numerator": 7, "denominator": "MILLION"}}}`: {
			Config{Abort: &Abort{FromHeaders: true, PerMillion: 7, Unit: 1}}, "",
		},
		`{"max_active_faults": 0}`: {Config{MaxActive: new(uint32)}, ""},
		`{"max_active_faults": 3}`: {Config{MaxActive: new(uint32(3))}, ""},
		`{"unknown": 3}`:           {Config{}, "x"},
	} {
		fields := new(structpb.Struct)
		if err := fields.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		f := Filter()
		got, err := f.ParseOverride(nil, resource.TypedConfig{Message: f.Override, Fields: fields})
		switch {
		case want.err == "x" && err != nil:
		case want.err != "":
			if err == nil || err.Error() != want.err {
				t.Errorf("%s: %v, want %s", text, err, want.err)
			}
		default:
			if diff := cmp.Diff(want.config, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
			}
		}
	}
}
