package resource

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"google.golang.org/protobuf/proto"
)

// Profile is how strictly resources are read.
type Profile uint8

// The profiles. The zero value is gRPC's.
const (
	// GRPC rejects what the gRFCs say must be rejected.
	GRPC Profile = iota
	// Envoy is for proxies that are not gRPC: what the messages' own rules
	// (protoc-gen-validate) allow is accepted, and extensions that nobody
	// registered are kept as they came.
	Envoy
)

// String is "gRPC" or "Envoy".
func (p Profile) String() string {
	if p == Envoy {
		return "Envoy"
	}
	return "gRPC"
}

// Extend returns a set with the same types, a profile, and extensions beside those
// it has. Two extensions that are found by the same name in the same place, and
// extensions that lack what the framework needs, are errors; all are reported.
func (s *Set) Extend(profile Profile, extensions ...Extension) (*Set, error) {
	out := *s
	out.profile = profile
	out.extensions = make(map[extensionKey]Extension, len(s.extensions)+len(extensions))
	maps.Copy(out.extensions, s.extensions)
	var errs []error
	for _, e := range extensions {
		if err := CheckExtension(e); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, k := range e.keys() {
			if _, ok := out.extensions[k]; ok {
				errs = append(errs, fmt.Errorf("resource: %s is there twice", k))
			}
			out.extensions[k] = e
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &out, nil
}

// Fill returns a set with the same types and extensions, and with those of the given
// extensions that it has none in the place of. Of two given extensions for the same name, one
// that can run has precedence over one that only reads configurations, and an earlier one over
// a later one. It returns an error for each extension that lacks something the framework needs.
func (s *Set) Fill(extensions ...Extension) (*Set, error) {
	out := *s
	out.extensions = make(map[extensionKey]Extension, len(s.extensions)+len(extensions))
	maps.Copy(out.extensions, s.extensions)
	var errs []error
	var reading []Extension
	for _, e := range extensions {
		if err := CheckExtension(e); err != nil {
			errs = append(errs, err)
		} else if runs(e) {
			out.fill(e)
		} else {
			reading = append(reading, e)
		}
	}
	for _, e := range reading {
		out.fill(e)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &out, nil
}

// fill adds an extension unless one of its names is taken.
func (s *Set) fill(e Extension) {
	for _, k := range e.keys() {
		if _, taken := s.extensions[k]; taken {
			return
		}
	}
	for _, k := range e.keys() {
		s.extensions[k] = e
	}
}

// runs reports whether an extension has code beside the half that reads configurations.
func runs(e Extension) bool { return e.half() != e }

// Extensions yields the extensions as they were registered, each once, ordered by the first of
// their names.
func (s *Set) Extensions() iter.Seq[Extension] {
	return func(yield func(Extension) bool) {
		keys := slices.SortedFunc(maps.Keys(s.extensions), extensionKey.compare)
		for _, k := range keys {
			e := s.extensions[k]
			if k == e.keys()[0] && !yield(e) {
				return
			}
		}
	}
}

// Keep returns a set with the same types, and those extensions for which keep returns true.
func (s *Set) Keep(keep func(Extension) bool) *Set {
	out := *s
	out.extensions = make(map[extensionKey]Extension, len(s.extensions))
	for k, e := range s.extensions {
		if keep(e) {
			out.extensions[k] = e
		}
	}
	return &out
}

// ValidateMessage adds what is wrong with a message by its own rules, which
// protoc-gen-validate made into code: all that profile Envoy demands.
func ValidateMessage(p Path, m proto.Message, v *Violations) {
	if err := validateRaw(m); err != nil {
		v.AddError(p, err)
	}
}

// CheckExtension says what an extension lacks, for implementers of [Registrar].
func CheckExtension(e Extension) error {
	if e == nil {
		return errors.New("resource: a nil extension")
	}
	if v := reflect.ValueOf(e); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("resource: a nil %s", v.Type().Elem().Name())
	}
	return e.check()
}

// ExtensionNames are what an extension is found by, each with the place where it
// plugs in: "HTTP filter acme.Filter". They are what must not be registered twice.
func ExtensionNames(e Extension) []string {
	keys := e.keys()
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, k.String())
	}
	return names
}

// Profile is how strictly resources are read.
func (s *Set) Profile() Profile {
	if s == nil {
		return GRPC
	}
	return s.profile
}

// HTTPFilter finds an HTTP filter by the message of its configuration or override.
func (s *Set) HTTPFilter(message string) (*HTTPFilter, bool) {
	return find[*HTTPFilter](s, pointHTTPFilter, message)
}

// LBPolicy finds an LB policy by the message of its configuration.
func (s *Set) LBPolicy(message string) (*LBPolicy, bool) {
	return find[*LBPolicy](s, pointLBPolicy, message)
}

// ClusterSpecifier finds a cluster specifier plugin by the message of its
// configuration.
func (s *Set) ClusterSpecifier(message string) (*ClusterSpecifier, bool) {
	return find[*ClusterSpecifier](s, pointClusterSpecifier, message)
}

// MetadataKind finds a kind of metadata by its message.
func (s *Set) MetadataKind(message string) (*MetadataKind, bool) {
	return find[*MetadataKind](s, pointMetadata, message)
}

// CertificateProvider finds a certificate provider plugin by its name in the
// bootstrap.
func (s *Set) CertificateProvider(plugin string) (*CertificateProvider, bool) {
	return find[*CertificateProvider](s, pointCertificates, plugin)
}

// find looks an extension up. A nil set has none.
func find[E Extension](s *Set, point, name string) (E, bool) {
	var none E
	if s == nil {
		return none, false
	}
	x, ok := s.extensions[extensionKey{point, name}]
	if !ok {
		return none, false
	}
	e, ok := x.half().(E)
	return e, ok
}

// CertificateProvider says why the certificate provider instance with a name cannot
// be used: the bootstrap does not have it, nobody registered its plugin, or its
// configuration is invalid. Nil: it can (gRFC A29).
func (dc *DecodeContext) CertificateProvider(instance string) error {
	if dc.Bootstrap == nil {
		return errNoInstance
	}
	p, ok := dc.Bootstrap.CertificateProvider(instance)
	if !ok {
		return errNoInstance
	}
	plugin, ok := dc.Types.CertificateProvider(p.PluginName)
	if !ok {
		return fmt.Errorf("is of the plugin %q, which must be registered", p.PluginName)
	}
	return plugin.checkOnce(p.Config)
}

var errNoInstance = errors.New("must be one of the bootstrap's certificate_providers (A29)")
