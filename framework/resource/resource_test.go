package resource

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

const leaf = "test.Leaf"

func parse(t *testing.T, s string) xdstp.Name {
	t.Helper()
	n, err := xdstp.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestErrorKinds(t *testing.T) {
	cause := errors.New("boom")
	for _, kind := range []error{ErrNotFound, ErrRemoved, ErrTimeout, ErrInvalid, ErrTransport} {
		err := fmt.Errorf("wrapped: %w", &Error{Kind: kind, Type: "a.b.Cluster", Name: parse(t, "x"), Server: "s:1", NodeID: "n", Err: cause})
		if !errors.Is(err, kind) || !errors.Is(err, cause) {
			t.Errorf("%v is neither its kind nor its cause", err)
		}
		if want := `Cluster "x": ` + kind.Error() + `: boom [server s:1, node n]`; !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q in it", err, want)
		}
		for _, other := range []error{ErrTimeout, ErrInvalid, ErrTransport} {
			if !errors.Is(kind, other) && errors.Is(err, other) {
				t.Errorf("%v counts as %v", err, other)
			}
		}
	}
	if !errors.Is(&Error{Kind: ErrRemoved}, ErrNotFound) || errors.Is(&Error{Kind: ErrNotFound}, ErrRemoved) {
		t.Error("removed must be not found, and not the other way round")
	}
	if got := (&Error{Kind: ErrTimeout, Type: "T", Name: parse(t, "x")}).Error(); got != `T "x": no answer in time` {
		t.Errorf("a bare error prints %q", got)
	}
}

type update struct{ Meta }

func newType(name string, decode func(*DecodeContext, []byte) (Update, error)) *Descriptor {
	return &Descriptor{Name: name, Decode: decode, NewShard: func() Shard { return nil }}
}

func TestRefMakesNamesCanonicalAndChecksThem(t *testing.T) {
	dc := &DecodeContext{Name: parse(t, "x")}
	var m Meta
	var v Violations
	at := (*Path)(nil).Field("service_name")
	for _, s := range []string{"xdstp://a/test.Leaf/l?b=2&a=1", "plain", "", "plain", "xdstp://a/test.Leaf/l?a=1&b=2"} {
		dc.Ref(&m, &v, at, leaf, &s)
		if strings.Contains(s, "b=2&a=1") {
			t.Errorf("the name is not canonical: %s", s)
		}
	}
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	var refs []string
	for r := range m.Refs() {
		refs = append(refs, r.String())
	}
	if want := []string{"test.Leaf xdstp://a/test.Leaf/l?a=1&b=2", "test.Leaf plain"}; !slices.Equal(refs, want) {
		t.Errorf("refs = %q, want %q", refs, want)
	}
	for _, s := range []string{"xdstp:/broken", "xdstp://a/test.Other/x"} {
		dc.Ref(&m, &v, at, leaf, &s)
	}
	err := v.Err()
	if err == nil || strings.Count(err.Error(), "service_name = ") != 2 || !strings.Contains(err.Error(), "must name a test.Leaf") {
		t.Errorf("error = %v", err)
	}
}

func TestInlineTakesOverRefsAndViolations(t *testing.T) {
	inner := newType("test.Inner", func(dc *DecodeContext, body []byte) (Update, error) {
		var v Violations
		u := &update{dc.Meta(body)}
		name := string(body)
		dc.Ref(&u.Meta, &v, (*Path)(nil).Field("leaf"), leaf, &name)
		return u, v.Err()
	})
	set, err := NewSet(inner)
	if err != nil {
		t.Fatal(err)
	}
	dc := &DecodeContext{Name: parse(t, "outer"), Types: set}
	var m Meta
	var v Violations
	at := (*Path)(nil).Field("route_config")
	u := dc.Inline(&m, &v, at, "test.Inner", []byte("l"))
	if u == nil || u.Name() != dc.Name || v.Err() != nil {
		t.Fatalf("inlined = %v, %v", u, v.Err())
	}
	if refs := slices.Collect(m.Refs()); len(refs) != 1 || refs[0].Name.String() != "l" {
		t.Errorf("refs = %v", refs)
	}
	dc.Inline(&m, &v, at, "test.Inner", []byte("xdstp:/"))
	dc.Inline(&m, &v, at, "test.Missing", nil)
	err = v.Err()
	if err == nil || !strings.Contains(err.Error(), "route_config.leaf = ") || !strings.Contains(err.Error(), "test.Missing; register its plugin") {
		t.Errorf("error = %v", err)
	}
	(&DecodeContext{}).Inline(&m, &v, at, "test.Inner", nil) // without types: a violation, no panic
}

// Types that are added later use the same extensions and the same profile.
func TestWithKeepsExtensions(t *testing.T) {
	decode := func(*DecodeContext, []byte) (Update, error) { return nil, ErrInvalid }
	base, err := NewSet(newType("a", decode))
	if err != nil {
		t.Fatal(err)
	}
	if base, err = base.Extend(Envoy, &CertificateProvider{Plugin: "p"}); err != nil {
		t.Fatal(err)
	}
	more, err := base.With(newType("b", decode))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := more.CertificateProvider("p"); !ok || more.Profile() != Envoy || more.Len() != 2 || base.Len() != 1 {
		t.Errorf("with another type: %+v, before %+v", more, base)
	}
	if _, err := more.With(newType("a", decode)); err == nil {
		t.Error("a type was added twice")
	}
}

func TestNewSetReportsEverything(t *testing.T) {
	decode := func(*DecodeContext, []byte) (Update, error) { return nil, ErrInvalid }
	_, err := NewSet(newType("", decode), newType("a", nil), newType("b", decode), newType("b", decode), &Descriptor{Name: "c", Decode: decode}, nil)
	if err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("error = %v, want five lines", err)
	}
	set, err := NewSet(newType("z", decode), newType("a", decode))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for i, typ := range set.All() {
		if set.Index(typ) != i {
			t.Errorf("Index(%s) = %d, want %d", typ.Name, set.Index(typ), i)
		}
		order = append(order, typ.Name)
	}
	if !slices.Equal(order, []string{"a", "z"}) || set.Len() != 2 || set.Index(newType("a", decode)) != -1 {
		t.Errorf("order = %v", order)
	}
	for _, url := range []string{"a", "", "/", "type.googleapis.com/b"} {
		if _, ok := set.LookupURL(url); ok {
			t.Errorf("LookupURL(%q) found something", url)
		}
	}
	for _, url := range []string{"/a", "type.googleapis.com/a", "x/y/a"} {
		if typ, ok := set.LookupURL(url); !ok || typ.Name != "a" {
			t.Errorf("LookupURL(%q) = %v, %t; want the type a", url, typ, ok)
		}
	}
}

// References are sorted and unique, however many there are.
func TestManyRefs(t *testing.T) {
	dc := &DecodeContext{Name: parse(t, "x")}
	var m Meta
	var v Violations
	var want []string
	for i := range 3 * fewRefs {
		name := fmt.Sprint("c", i)
		want = append(want, name)
		for _, s := range []string{name, "c0", name} {
			dc.Ref(&m, &v, Path{}, leaf, &s)
		}
	}
	var got []string
	for r := range m.Refs() {
		got = append(got, r.Name.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("refs = %q", got)
	}
}
