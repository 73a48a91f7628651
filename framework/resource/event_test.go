package resource_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// TestEvents expects the text of events for people, and the attributes for logs.
func TestEvents(t *testing.T) {
	name, err := xdstp.Parse("a")
	if err != nil {
		t.Fatal(err)
	}
	type event = resource.Event[resource.Update]
	type member = resource.MemberEvent[resource.Update]
	broken := errors.New("broken")
	for _, tt := range []struct {
		event     any
		text, log string
	}{
		{event{Err: broken}, "no usable resource: broken", "ev.error=broken"},
		{event{Ambient: broken}, "problem: broken", "ev.ambient=broken"},
		{event{Origin: resource.OriginPrimary}, "<nil> (primary)", "ev.update=<nil> ev.origin=primary"},
		{event{Origin: resource.OriginFallback, Ambient: broken}, "<nil> (fallback; problem: broken)", "ev.update=<nil> ev.origin=fallback ev.ambient=broken"},
		{event{Origin: resource.OriginStored}, "<nil> (stored)", "ev.update=<nil> ev.origin=stored"},
		{event{}, "<nil> (none)", ""},
		{member{Name: name, Event: event{Err: broken}}, "a: no usable resource: broken", "ev.name=a ev.event.error=broken ev.synced=false"},
		{member{Event: event{Err: broken}}, "collection: no usable resource: broken", `ev.name="" ev.event.error=broken ev.synced=false`},
		{member{Event: event{Ambient: broken}}, "collection: problem: broken", `ev.name="" ev.event.ambient=broken ev.synced=false`},
		{member{Synced: true}, "collection is empty", `ev.name="" ev.synced=true`},
	} {
		var b bytes.Buffer
		slog.New(slog.NewTextHandler(&b, nil)).Info("m", "ev", tt.event)
		_, log, _ := strings.Cut(strings.TrimSpace(b.String()), " msg=m")
		if text := tt.event.(interface{ String() string }).String(); text != tt.text || strings.TrimSpace(log) != tt.log {
			t.Errorf("the event is %q, and in logs %q; want %q and %q", text, log, tt.text, tt.log)
		}
	}
}
