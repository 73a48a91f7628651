package registry

import (
	"errors"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
)

func newType(name string) *resource.Descriptor {
	return &resource.Descriptor{
		Name:     name,
		Decode:   func(*resource.DecodeContext, []byte) (resource.Update, error) { return nil, errors.ErrUnsupported },
		NewShard: func() resource.Shard { return runtime.NewShard[resource.Update]() },
	}
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
	if got, ok := set.Lookup("test.B"); !ok || got != a {
		t.Errorf("Lookup(test.B) = %v, %v", got, ok)
	}
	if got, ok := set.LookupURL("type.googleapis.com/test.A"); !ok || got != b {
		t.Errorf("LookupURL(test.A) = %v, %v", got, ok)
	}
	if again, err := r.Freeze(); err != nil || again != set {
		t.Errorf("second Freeze = %v, %v; want the same set", again, err)
	}
}

func registerHere(r *Registry)  { r.Register(newType("test.T")) }
func registerThere(r *Registry) { r.Register(newType("test.T")) }

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
	r.Register(&resource.Descriptor{Name: "test.T"})
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
	r.Extend(&resource.CertificateProvider{Plugin: "test.P"}) // another place to plug in
	set, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := set.LBPolicy("test.P"); !ok || set.Profile() != resource.Envoy {
		t.Errorf("the policy is there: %v; the profile is %v", ok, set.Profile())
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
