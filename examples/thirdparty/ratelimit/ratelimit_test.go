package ratelimit

import (
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/xdstest/plugintest"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/acme/ratelimitpb"
)

func TestUpdate(t *testing.T) {
	u, err := plugintest.Decode(t, Type(), "", &ratelimitpb.Policy{
		Name:    "checkout",
		Limit:   &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(50)},
		Callers: []*ratelimitpb.Caller{{Identity: "a|b", Limit: &ratelimitpb.Limit{}, Kind: ratelimitpb.Kind_KIND_PARTNER}},
		Excess:  &ratelimitpb.Policy_Reject{Reject: &ratelimitpb.Reject{RetryAfter: durationpb.New(time.Minute)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := u.(*Update)
	if got.Limit != (Limit{PerSecond: 50, Burst: 10}) || got.Excess != (Reject{RetryAfter: time.Minute}) {
		t.Errorf("limit %+v, excess %+v", got.Limit, got.Excess)
	}
	caller := got.Callers[0]
	if caller.Kind != KindPartner || !caller.Identity.MatchString("b") || caller.Identity.MatchString("ab") {
		t.Errorf("caller %+v; want partners a and b", caller)
	}
}
