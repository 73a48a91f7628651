package ratelimit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/xdstest"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/acme/ratelimitpb"
)

func TestUpdate(t *testing.T) {
	got := xdstest.Decode(t, Type(), &ratelimitpb.Policy{
		Name:    "checkout",
		Limit:   &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(50)},
		Callers: []*ratelimitpb.Caller{{Identity: "a|b", Limit: &ratelimitpb.Limit{}, Kind: ratelimitpb.Kind_KIND_PARTNER}},
		Excess:  &ratelimitpb.Policy_Reject{Reject: &ratelimitpb.Reject{RetryAfter: durationpb.New(time.Minute)}},
	})
	if got.Limit != (Limit{PerSecond: 50, Burst: 10}) || got.Excess != (Reject{RetryAfter: time.Minute}) {
		t.Errorf("limit %+v, excess %+v", got.Limit, got.Excess)
	}
	caller := got.Callers[0]
	if caller.Kind != KindPartner || !caller.Identity.MatchString("b") || caller.Identity.MatchString("ab") {
		t.Errorf("caller %+v; want partners a and b", caller)
	}
}

// TestRejected expects a policy that allows a method more than all methods together to be rejected,
// by the decoder and by a client.
func TestRejected(t *testing.T) {
	const want = `methods["pay"].per_second = 60; must not be above limit.per_second`
	p := &ratelimitpb.Policy{
		Name:    "checkout",
		Limit:   &ratelimitpb.Limit{PerSecond: wrapperspb.UInt32(50)},
		Methods: map[string]*ratelimitpb.Limit{"pay": {PerSecond: wrapperspb.UInt32(60)}},
	}
	if u, err := xdstest.TryDecode(Type(), p); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("TryDecode = %v, %v; want %s", u, err, want)
	}

	cp := xdstest.Start(t, Type())
	cp.Set(p)
	c := cp.Client(xdsforge.WithTypes(Register))
	if _, err := Get(t.Context(), c, "checkout"); !errors.Is(err, xdsforge.ErrInvalid) {
		t.Errorf("Get: %v; want an invalid resource", err)
	}
	cp.WantRejected(Type(), "checkout", want)
}
