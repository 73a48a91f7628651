package client

import (
	"cmp"
	"strings"
	"testing"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A callback that had begun when the list dropped its member, or listed it again, reports
// nothing of the list any longer.
func TestLateCallbackOfAMember(t *testing.T) {
	name, err := xdstp.Parse("xdstp://e/test.Thing/far")
	if err != nil {
		t.Fatal(err)
	}
	o := &listSubscription{collectionMailbox: newCollectionMailbox(&Client{}), located: make(map[xdstp.Name]*locatedMember)}
	old, fresh := &locatedMember{list: o, name: name}, &locatedMember{list: o, name: name}
	tells := func(m *locatedMember) bool {
		m.notify(resource.State{Err: resource.ErrTransport}, resource.State{})
		_, changed := o.take()
		clear(o.taken)
		return changed
	}
	o.located[name] = old
	if !tells(old) {
		t.Error("no event for a member")
	}
	delete(o.located, name)
	if tells(old) {
		t.Error("a member that was dropped came back")
	}
	o.located[name] = fresh
	if tells(old) || !tells(fresh) {
		t.Error("want an event of the current member")
	}
}

// TestEntriesOfAList expects locators of the type only, and the version of an inline entry or else
// that of the list.
func TestEntriesOfAList(t *testing.T) {
	c, typ := resting(t)
	typ.Decode = func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
		return &plainUpdate{dc.Meta(body)}, nil
	}
	typ.Collection = "test.Things"
	dc := &resource.DecodeContext{Name: old(t, "xdstp://a/test.Things/all"), Version: "of the list", Bootstrap: c.config, Types: c.decoded}
	l := &list{Meta: dc.Meta(nil), inlined: make(map[xdstp.Name]resource.Update), located: make(map[xdstp.Name]struct{})}
	entry := func(e *xdscorev3.CollectionEntry) error {
		b, err := proto.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return l.entry(typ, dc, b)
	}
	for kind, ok := range map[string]bool{"test.Thing": true, "test.Other": false} {
		err := entry(&xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_Locator{Locator: &xdscorev3.ResourceLocator{
			Scheme: xdscorev3.ResourceLocator_XDSTP, Authority: "a", ResourceType: kind, Id: "far",
		}}})
		if (err == nil) != ok {
			t.Errorf("a locator of type %s: %v", kind, err)
		}
	}
	if len(l.located) != 1 {
		t.Errorf("the list locates %v, want one member", l.located)
	}
	for name, version := range map[string]string{"own": "of the entry", "none": ""} {
		if err := entry(&xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_InlineEntry_{InlineEntry: &xdscorev3.CollectionEntry_InlineEntry{
			Name: name, Version: version, Resource: &anypb.Any{TypeUrl: "type.googleapis.com/test.Thing", Value: []byte(name)},
		}}}); err != nil {
			t.Fatal(err)
		}
		want := cmp.Or(version, "of the list")
		if u, ok := l.inlined[old(t, "xdstp://a/test.Thing/all/"+name)].(*plainUpdate); !ok || u.Version() != want {
			t.Errorf("the inline entry %s is %v, want version %q", name, u, want)
		}
	}
}

// TestTwoEntriesOfOneName expects a list to be invalid if it has an inline entry and another entry of
// the same name. Two equal locators do no harm.
func TestTwoEntriesOfOneName(t *testing.T) {
	c, typ := resting(t)
	typ.Collection = "test.Things"
	typ.PeekName = func(b []byte) (string, error) { return string(b), nil }
	typ.Decode = func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
		return &plainUpdate{dc.Meta(body)}, nil
	}
	entries := map[string]*xdscorev3.CollectionEntry{
		"locator": {ResourceSpecifier: &xdscorev3.CollectionEntry_Locator{Locator: &xdscorev3.ResourceLocator{
			Scheme: xdscorev3.ResourceLocator_XDSTP, Authority: "a", ResourceType: "test.Thing", Id: "x",
		}}},
		"inline": {ResourceSpecifier: &xdscorev3.CollectionEntry_InlineEntry_{InlineEntry: &xdscorev3.CollectionEntry_InlineEntry{
			Resource: &anypb.Any{TypeUrl: "type.googleapis.com/test.Thing", Value: []byte("xdstp://a/test.Thing/x")},
		}}},
	}
	for _, tt := range []struct {
		first, second string
		ok            bool
	}{{"inline", "inline", false}, {"inline", "locator", false}, {"locator", "inline", false}, {"locator", "locator", true}} {
		var body []byte
		for _, kind := range []string{tt.first, tt.second} {
			raw, err := proto.Marshal(entries[kind])
			if err != nil {
				t.Fatal(err)
			}
			body = protowire.AppendBytes(protowire.AppendTag(body, listEntries, protowire.BytesType), raw)
		}
		dc := &resource.DecodeContext{Name: old(t, "xdstp://a/test.Things/all"), Bootstrap: c.config, Types: c.decoded}
		if _, err := decodeList(typ, dc, body, 2); (err == nil) != tt.ok || !tt.ok && !strings.Contains(err.Error(), "entries[1]; \"xdstp://a/test.Thing/x\" is there twice") {
			t.Errorf("an entry of kind %s after one of kind %s: %v", tt.second, tt.first, err)
		}
	}
}

// TestListThatGainsMembers expects a list to be complete when all members that it locates are
// known.
func TestListThatGainsMembers(t *testing.T) {
	c, typ := resting(t)
	o := &listSubscription{collectionMailbox: newCollectionMailbox(c), typ: typ, located: make(map[xdstp.Name]*locatedMember), cancel: func() {}}
	dc := resource.DecodeContext{Name: old(t, "xdstp://a/test.Things/all"), Server: serverOf(t, "s")}
	next := &list{Meta: dc.Meta(nil), located: map[xdstp.Name]struct{}{old(t, "xdstp://a/test.Thing/1"): {}, old(t, "xdstp://a/test.Thing/2"): {}}}
	o.changed(next, resource.OriginPrimary)
	left := 2
	if o.unknown != left {
		t.Fatalf("%d members are unknown, want %d", o.unknown, left)
	}
	for _, m := range o.located {
		left--
		m.notify(resource.State{Err: errNoName}, resource.State{})
		m.notify(resource.State{Err: errNoName}, resource.State{}) // counts once
		if s, _ := o.take(); s.Synced != (left == 0) {
			t.Errorf("complete with %d unknown members: %t", left, s.Synced)
		}
	}
	o.Stop()
	o.changed(next, resource.OriginPrimary)
	if o.unknown != 0 {
		t.Error("the list changes after Stop")
	}
}
