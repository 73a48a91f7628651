package resource

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// TestMetadata expects registered kinds to have precedence over untyped fields of the same key
// (gRFC A83).
func TestMetadata(t *testing.T) {
	types := extend(t, &MetadataKind{Message: "google.protobuf.Struct", Parse: func(_ *DecodeContext, c TypedConfig) (any, error) {
		m := new(structpb.Struct)
		if err := c.Unmarshal(m); err != nil {
			return nil, err
		}
		if m.GetFields()["bad"] != nil {
			return nil, errScript
		}
		return "typed", nil
	}})
	dc := &DecodeContext{Types: types}
	if m, err := dc.Metadata(nil); m != nil || err != nil {
		t.Errorf("no metadata is %v, %v", m, err)
	}
	typed := func(fields map[string]any) *anypb.Any {
		m, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		a, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	fields, err := structpb.NewStruct(map[string]any{"x": 1.0})
	if err != nil {
		t.Fatal(err)
	}
	m, err := dc.Metadata(&corev3.Metadata{
		FilterMetadata:      map[string]*structpb.Struct{"both": fields, "untyped": fields, "unknown": fields},
		TypedFilterMetadata: map[string]*anypb.Any{"both": typed(nil), "typed": typed(nil), "unknown": {TypeUrl: "x/test.Unknown"}, "malformed": nil},
	})
	if err != nil || len(m) != 4 || m["both"].Value != "typed" || m["typed"].Value != "typed" {
		t.Errorf("metadata = %v, %v", m, err)
	}
	for _, key := range []string{"untyped", "unknown"} {
		if v, _ := m[key].Value.(map[string]any); m[key].Message != structMessage || v["x"] != 1.0 {
			t.Errorf("metadata of %s = %+v", key, m[key])
		}
	}
	_, err = dc.Metadata(&corev3.Metadata{TypedFilterMetadata: map[string]*anypb.Any{"k": typed(map[string]any{"bad": true})}})
	if err == nil || err.Error() != "typed_filter_metadata[k]; scripted" {
		t.Errorf("bad metadata: %v", err)
	}
}

// TestCertificateProviderIsCheckedOnce expects one validation of each configuration.
func TestCertificateProviderIsCheckedOnce(t *testing.T) {
	checks := 0
	p := &CertificateProvider{Plugin: "p", Check: func(config json.RawMessage) error {
		checks++
		if string(config) == "bad" {
			return errScript
		}
		return nil
	}}
	for range 3 {
		if err := p.checkOnce(json.RawMessage("good")); err != nil {
			t.Errorf("a good configuration: %v", err)
		}
		if err := p.checkOnce(json.RawMessage("bad")); !errors.Is(err, errScript) {
			t.Errorf("a bad configuration: %v", err)
		}
	}
	if checks != 2 {
		t.Errorf("%d checks of two configurations", checks)
	}
	if err := new(CertificateProvider).checkOnce(nil); err != nil {
		t.Errorf("a provider that accepts anything: %v", err)
	}
}

func TestArenas(t *testing.T) {
	types, err := NewSet(newType("test.T", func(*DecodeContext, []byte) (Update, error) { return nil, errScript }))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []*Set{types, nil} {
		dc := &DecodeContext{Types: set}
		r := dc.Read("test.T", []byte{1 << 3, 7})
		if !r.Next() || r.Uint32() != 7 || r.Next() || !r.OK() {
			t.Error("the message is not read")
		}
		dc.Done("test.T")
		if dc.Arena() != nil {
			t.Error("an arena that was given back is still there")
		}
	}
	if got := types.byName["test.T"]; got.URL() != "type.googleapis.com/test.T" || got.ShortName() != "T" {
		t.Errorf("URL and short name are %q and %q", got.URL(), got.ShortName())
	}
}

func TestSmallThings(t *testing.T) {
	n, err := (&DecodeContext{}).ParseName("xdstp://a/t/b?y=2&x=1")
	if err != nil || n.String() != "xdstp://a/t/b?x=1&y=2" {
		t.Errorf("without a bootstrap, the name is %q, %v", n, err)
	}
	if m := (&Meta{raw: "x"}); string(m.Raw()) != "x" || m.Server() != nil {
		t.Error("Raw and Server do not return the values of New")
	}
	if !(State{Err: errScript}).Known() || !(State{Update: &update{}}).Known() || (State{}).Known() {
		t.Error("a state is known with an update or an error, and not otherwise")
	}
	parse := func(*DecodeContext, TypedConfig) (any, error) { return nil, nil }
	filter := &HTTPFilter{Config: "a", Override: "b", Sides: ClientSide, Parse: parse, ParseOverride: parse}
	if names, err := ExtensionNames(filter); err != nil || !slices.Equal(names, []string{"HTTP filter a", "HTTP filter b"}) {
		t.Errorf("ExtensionNames = %q, %v", names, err)
	}
}
