package registry

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// ErrFrozen is the error of a registration after Freeze.
var ErrFrozen = errors.New("registry: frozen; register before Freeze")

// A Registry collects resource types and extensions until it is frozen. It
// implements [resource.Registrar] and is safe for concurrent use.
type Registry struct {
	profile resource.Profile

	mu         sync.Mutex
	types      []*resource.Descriptor
	extensions []resource.Extension
	fills      []resource.Extension
	origin     map[string]string // of each type and extension, by its key
	frozen     *resource.Set
	errs       []error
}

var _ resource.Registrar = (*Registry)(nil)

// An Option configures New.
type Option func(*Registry)

// WithProfile sets how strictly resources are validated. The default is gRPC's profile.
func WithProfile(p resource.Profile) Option { return func(r *Registry) { r.profile = p } }

// New returns an empty registry.
func New(opts ...Option) *Registry {
	r := &Registry{origin: make(map[string]string)}
	for _, o := range opts {
		o(r)
	}
	return r
}

// Register adds a type. It ignores a type that is already registered. Freeze returns an error for
// another type of the same name, and for a type that is registered after Freeze. The error of a
// duplicate names both origins.
func (r *Registry) Register(typ resource.Type) {
	t, from := resource.Describe(typ), origin()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case slices.Contains(r.types, t): // nil is never in the list
	case t == nil:
		r.errs = append(r.errs, fmt.Errorf("registry: a nil type was registered by %s", from))
	case r.frozen != nil:
		r.errs = append(r.errs, fmt.Errorf("%w: %s, by %s", ErrFrozen, t.Name, from))
	case r.origin[t.Name] != "":
		r.errs = append(r.errs, fmt.Errorf("registry: type %s is registered twice: by %s, and by %s", t.Name, r.origin[t.Name], from))
	default:
		r.origin[t.Name] = from
		r.types = append(r.types, t)
	}
}

// Extend adds an extension: an HTTP filter, an LB policy, a cluster specifier plugin, a kind of
// metadata or a certificate provider. It ignores an extension that is already registered. Freeze
// returns an error for an invalid extension and for another extension of the same name. The error
// of a duplicate names both origins.
func (r *Registry) Extend(e resource.Extension) {
	from := origin()
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.extensions, func(known resource.Extension) bool { return same(known, e) }) {
		return
	}
	names, ok := r.admits(e, from)
	if !ok {
		return
	}
	for _, name := range names {
		if r.origin[name] != "" {
			r.errs = append(r.errs, fmt.Errorf("registry: %s is registered twice: by %s, and by %s", name, r.origin[name], from))
			return
		}
	}
	for _, name := range names {
		r.origin[name] = from
	}
	r.extensions = append(r.extensions, e)
}

// Fill adds an extension unless Extend adds one for the same name, before or after. If Fill adds
// two for the same name, one that can run has precedence over one that only reads configurations.
// Otherwise the first one has precedence.
func (r *Registry) Fill(e resource.Extension) {
	from := origin()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.admits(e, from); ok {
		r.fills = append(r.fills, e)
	}
}

// admits reports whether an extension is valid and was registered before Freeze, and returns
// its names. If not, it records the error.
func (r *Registry) admits(e resource.Extension, from string) (names []string, ok bool) {
	names, err := resource.ExtensionNames(e)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%w, by %s", err, from))
		return nil, false
	}
	if r.frozen != nil {
		r.errs = append(r.errs, fmt.Errorf("%w: %s, by %s", ErrFrozen, names, from))
		return nil, false
	}
	return names, true
}

// same reports whether both are the same extension. It compares pointers, because structs that hold
// functions cannot be compared.
func same(a, b resource.Extension) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// Freeze returns the set of all types and extensions, or all registration errors. It may be called
// again. After a success it returns the same set, or the errors of registrations that came too
// late.
func (r *Registry) Freeze() (*resource.Set, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	if r.frozen == nil {
		set, err := resource.NewSet(r.types...)
		if err != nil {
			return nil, err
		}
		if set, err = set.Extend(r.profile, r.extensions...); err != nil {
			return nil, err
		}
		if r.frozen, err = set.Fill(r.fills...); err != nil {
			return nil, err
		}
	}
	return r.frozen, nil
}

// origin describes the caller of Register for error texts: the function and its caller. In
// generated code the function is the Register of its package. It skips the method of a handle.
func origin() string {
	pcs := make([]uintptr, 3)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	registrar, more := frames.Next()
	if more && strings.Contains(registrar.Function, "/framework/resource.TypeOf[") {
		registrar, more = frames.Next()
	}
	if !more {
		return registrar.Function
	}
	caller, _ := frames.Next()
	return fmt.Sprintf("%s (called at %s:%d)", registrar.Function, path.Base(caller.File), caller.Line)
}
