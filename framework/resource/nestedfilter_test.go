package resource

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/anypb"
)

// TestNestedFilter expects the configuration of a filter, or the text of the violation.
func TestNestedFilter(t *testing.T) {
	parse := func(_ *DecodeContext, c TypedConfig) (any, error) { return "config of " + c.Message, nil }
	deep := &HTTPFilter{Config: "test.Deep", Sides: ClientSide}
	deep.Parse = func(dc *DecodeContext, _ TypedConfig) (any, error) {
		_, config, err := dc.NestedFilter(&anypb.Any{TypeUrl: "x/test.Deep"})
		return config, err
	}
	dc := &DecodeContext{Types: extend(t, deep,
		&HTTPFilter{Config: "test.Client", Override: "test.Override", Sides: ClientSide, Parse: parse, ParseOverride: parse},
		&HTTPFilter{Config: "test.Server", Sides: ServerSide, Parse: parse},
		&HTTPFilter{Config: "test.Terminal", Sides: ClientSide, Terminal: true, Parse: parse})}
	for _, tt := range []struct {
		dc            *DecodeContext
		message, want string
	}{
		{dc, "test.Client", ""},
		{dc, "test.Override", `"test.Override"; must be the configuration of an HTTP filter; it is an override (A39)`},
		{dc, "test.Server", `must be of an HTTP filter that is registered for a client (A103)`},
		{dc, "test.Unknown", `must be of an HTTP filter that is registered for a client (A103)`},
		{dc, "test.Terminal", `must not be a terminal HTTP filter (A103)`},
		{dc, "test.Deep", `must not nest more than 8 HTTP filters (A103)`},
		{dc.At(ServerSide), "test.Server", ""},
		{dc.At(ServerSide), "test.Client", `must be of an HTTP filter that is registered for a server (A103)`},
		{dc.At(ClientSide | ServerSide), "test.Client", ""},
		{dc.At(ClientSide | ServerSide), "test.Server", ""},
		{dc, "", "must name a message"},
	} {
		message, config, err := tt.dc.NestedFilter(&anypb.Any{TypeUrl: "x/" + tt.message})
		switch {
		case tt.want == "" && (err != nil || message != tt.message || config != "config of "+tt.message):
			t.Errorf("%s on the %v: %s, %v, %v", tt.message, tt.dc.Side(), message, config, err)
		case tt.want != "" && (err == nil || !strings.Contains(`"`+tt.message+`"; `+err.Error(), tt.want)):
			t.Errorf("%s on the %v: %v; want %s", tt.message, tt.dc.Side(), err, tt.want)
		}
	}
}

// A filter may be inside of 7 others.
func TestDepthOfNestedFilters(t *testing.T) {
	depth, most := 0, 0
	f := &HTTPFilter{Config: "test.Deep", Sides: ClientSide}
	f.Parse = func(dc *DecodeContext, _ TypedConfig) (any, error) {
		depth++
		most = max(most, depth)
		defer func() { depth-- }()
		_, _, err := dc.NestedFilter(&anypb.Any{TypeUrl: "x/test.Deep"})
		return nil, err
	}
	dc := &DecodeContext{Types: extend(t, f)}
	if _, err := f.Parse(dc, TypedConfig{}); err == nil || most != 8 {
		t.Errorf("%d filters are decoded, %v; want 8", most, err)
	}
}
