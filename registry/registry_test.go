package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
)

func newType(name string) resource.TypeOf[resource.Update] {
	return resource.Define(resource.Spec[resource.Update]{
		Name:     name,
		Decode:   func(*resource.DecodeContext, []byte) (resource.Update, error) { return nil, errors.ErrUnsupported },
		NewShard: func() resource.Shard { return runtime.NewShard[resource.Update]() },
	})
}

func TestFreezeReturnsWhatWasRegistered(t *testing.T) {
	r := New()
	a, b := newType("test.B"), newType("test.A")
	r.Register(a)
	r.Register(b)
	set, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := set.Lookup("test.B"); !ok || got != resource.Describe(a) {
		t.Errorf("Lookup(test.B) = %v, %v", got, ok)
	}
	if got, ok := set.LookupURL("type.googleapis.com/test.A"); !ok || got != resource.Describe(b) {
		t.Errorf("LookupURL(test.A) = %v, %v", got, ok)
	}
	if again, err := r.Freeze(); err != nil || again != set {
		t.Errorf("second Freeze = %v, %v; want the same set", again, err)
	}
}

func registerHere(r *Registry)  { r.Register(newType("test.T")) }
func registerThere(r *Registry) { newType("test.T").Register(r) } // by the method of the handle

func TestDuplicateNamesBothOrigins(t *testing.T) {
	r := New()
	registerHere(r)
	registerThere(r)
	_, err := r.Freeze()
	if err == nil {
		t.Fatal("Freeze accepted a duplicate")
	}
	for _, want := range []string{"test.T", "registerHere", "registerThere", "registry_test.go:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}
}

func TestEveryErrorIsReported(t *testing.T) {
	r := New()
	r.Register(nil)
	r.Register(newType("test.T"))
	r.Register(newType("test.T"))
	_, err := r.Freeze()
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("error = %v, want two lines", err)
	}
}

func TestIncompleteTypeIsAnError(t *testing.T) {
	r := New()
	r.Register(resource.Define(resource.Spec[resource.Update]{Name: "test.T"}))
	if _, err := r.Freeze(); err == nil || !strings.Contains(err.Error(), "Decode of test.T is nil") {
		t.Errorf("error = %v", err)
	}
}

func TestRegisterAfterFreeze(t *testing.T) {
	r := New()
	if _, err := r.Freeze(); err != nil {
		t.Fatal(err)
	}
	r.Register(newType("test.Late"))
	if _, err := r.Freeze(); !errors.Is(err, ErrFrozen) || !strings.Contains(err.Error(), "test.Late") {
		t.Errorf("error = %v, want ErrFrozen with the type", err)
	}
}

func extendHere(r *Registry)  { r.Extend(&resource.LBPolicy{Config: "test.P"}) }
func extendThere(r *Registry) { r.Extend(&resource.LBPolicy{Config: "test.P"}) }

func TestExtensions(t *testing.T) {
	r := New(WithProfile(resource.Envoy))
	extendHere(r)
	r.Extend(&resource.CertificateProvider{Plugin: "test.P"}) // an LB policy, as another kind of extension
	set, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := set.LBPolicy("test.P"); !ok || set.Profile() != resource.Envoy {
		t.Errorf("LB policy found: %v; profile %v", ok, set.Profile())
	}
	r.Extend(&resource.LBPolicy{Config: "test.Late"})
	if _, err := r.Freeze(); !errors.Is(err, ErrFrozen) || !strings.Contains(err.Error(), "LB policy test.Late") {
		t.Errorf("error = %v, want ErrFrozen with the extension", err)
	}
}

func TestWrongExtensions(t *testing.T) {
	r := New()
	extendHere(r)
	extendThere(r)
	r.Extend(&resource.HTTPFilter{})
	_, err := r.Freeze()
	if err == nil {
		t.Fatal("Freeze accepted a duplicate")
	}
	for _, want := range []string{"LB policy test.P is registered twice", "extendHere", "extendThere", "registry_test.go:", "HTTPFilter.Config is empty", "TestWrongExtensions"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

// TestTheSameAgain registers the same type or extension several times without an error. This
// includes a struct that cannot be compared, by its pointer.
func TestTheSameAgain(t *testing.T) {
	type running struct {
		*resource.LBPolicy
		_ func()
	}
	r := New()
	typ, policy, own := newType("test.T"), &resource.LBPolicy{Config: "test.P"}, &running{LBPolicy: &resource.LBPolicy{Config: "test.R"}}
	for range 2 {
		r.Register(typ)
		r.Extend(policy)
		r.Extend(own)
	}
	set, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(set.Extensions()); set.Len() != 1 || !slices.Equal(got, []resource.Extension{policy, own}) {
		t.Errorf("%d types, extensions %v; want 1 type and both extensions", set.Len(), got)
	}
	r = New()
	r.Extend(*own)
	r.Extend(*own) // a copy, which may have other functions
	if _, err := r.Freeze(); err == nil || !strings.Contains(err.Error(), "registered twice") {
		t.Errorf("two copies: error = %v; want a duplicate", err)
	}
}

// A registered extension replaces a filled one. Of two filled extensions, one that can run has
// precedence.
func TestFill(t *testing.T) {
	type running struct{ *resource.HTTPFilter }
	filter := func() *resource.HTTPFilter {
		return &resource.HTTPFilter{Config: "test.F", Override: "test.O", Sides: resource.ClientSide, Parse: parseNothing, ParseOverride: parseNothing}
	}
	extended := filter()
	runs := &running{filter()}
	for name, c := range map[string]struct {
		register func(*Registry)
		want     *resource.HTTPFilter
	}{
		"extended later":  {func(r *Registry) { r.Fill(runs); r.Extend(extended) }, extended},
		"extended before": {func(r *Registry) { r.Extend(extended); r.Fill(runs) }, extended},
		"running later":   {func(r *Registry) { r.Fill(filter()); r.Fill(runs) }, runs.HTTPFilter},
		"running before":  {func(r *Registry) { r.Fill(runs); r.Fill(filter()) }, runs.HTTPFilter},
		"the same config": {func(r *Registry) { r.Fill(extended); r.Fill(filter()) }, extended},
		"a taken override": {func(r *Registry) {
			r.Extend(&resource.HTTPFilter{Config: "test.O", Sides: 1, Parse: parseNothing})
			r.Fill(filter())
		}, nil},
	} {
		r := New()
		c.register(r)
		set, err := r.Freeze()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _ := set.HTTPFilter("test.F"); got != c.want {
			t.Errorf("%s: %p; want %p", name, got, c.want)
		}
	}
	r := New()
	r.Fill(&resource.LBPolicy{})
	if _, err := r.Freeze(); err == nil || !strings.Contains(err.Error(), "TestFill") {
		t.Errorf("an invalid extension: %v; want an error that names its origin", err)
	}
}

func parseNothing(*resource.DecodeContext, resource.TypedConfig) (any, error) { return struct{}{}, nil }
