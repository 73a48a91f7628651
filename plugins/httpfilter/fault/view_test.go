package fault

import (
	"slices"
	"testing"

	commonfaultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// of returns the view that a message should have, by its getters.
func of(m *faultv3.HTTPFault) *faultView {
	percent := func(p *typev3.FractionalPercent) percentView {
		return percentView{p.GetNumerator(), int32(p.GetDenominator())}
	}
	out := &faultView{limited: m.GetMaxActiveFaults() != nil}
	out.maxActives.Value = m.GetMaxActiveFaults().GetValue()
	if d := m.GetDelay(); d != nil {
		out.delay.set, out.delay.percentage = true, percent(d.GetPercentage())
		switch s := d.GetFaultDelaySecifier().(type) {
		case *commonfaultv3.FaultDelay_FixedDelay:
			out.delay.member = fixedDelay
			out.delay.fixed = &durationpb.Duration{Seconds: s.FixedDelay.GetSeconds(), Nanos: s.FixedDelay.GetNanos()} // no unknown fields
		case *commonfaultv3.FaultDelay_HeaderDelay_:
			out.delay.member = headerDelay
		}
	}
	if a := m.GetAbort(); a != nil {
		out.abort.set, out.abort.percentage = true, percent(a.GetPercentage())
		switch e := a.GetErrorType().(type) {
		case *faultv3.FaultAbort_HttpStatus:
			out.abort.member, out.abort.status = httpStatus, e.HttpStatus
		case *faultv3.FaultAbort_GrpcStatus:
			out.abort.member, out.abort.status = grpcStatus, e.GrpcStatus
		case *faultv3.FaultAbort_HeaderAbort_:
			out.abort.member = headerAbort
		}
	}
	return out
}

// A view has the content of the message, however its parts are spread over the bytes.
func FuzzView(f *testing.F) {
	var all [][]byte
	for _, text := range []string{
		``, `delay {}`, `abort {}`, `max_active_faults {}`, `max_active_faults { value: 300 } upstream_cluster: "c" headers { name: "h" }`,
		`delay { fixed_delay { seconds: 3 nanos: 5 } percentage { numerator: 7 denominator: MILLION } }`, `delay { fixed_delay { nanos: 9 } }`,
		`delay { header_delay {} percentage { numerator: 300 } }`, `abort { http_status: 503 percentage { denominator: TEN_THOUSAND } }`,
		`abort { grpc_status: 14 }`, `abort { header_abort {} percentage {} }`,
	} {
		m := new(faultv3.HTTPFault)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, b)
	}
	for _, a := range all {
		for _, b := range all {
			f.Add(a, b)
		}
	}
	f.Add([]byte("\x0a\x04\x1a\x02\x30\x30"), []byte(nil)) // a fixed delay with an unknown field
	f.Fuzz(func(t *testing.T, a, b []byte) {
		body := slices.Concat(a, b) // two messages after each other are one
		m := new(faultv3.HTTPFault)
		if err := proto.Unmarshal(body, m); err != nil {
			return // Encoded rejects it
		}
		got := new(faultView)
		r := wire.Read(body)
		got.parse(&r)
		if !r.OK() {
			t.Fatalf("the view cannot be read from %x, which protobuf accepts", body)
		}
		fields := cmp.AllowUnexported(faultView{}, delayView{}, abortView{}, percentView{})
		if diff := cmp.Diff(of(m), got, fields, protocmp.Transform()); diff != "" {
			t.Errorf("the view of %v (-want +got):\n%s", m, diff)
		}
	})
}
