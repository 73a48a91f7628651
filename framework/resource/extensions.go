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

// Profile decides how strictly resources are validated.
type Profile uint8

// The profiles. The zero value is gRPC's.
const (
	// GRPC rejects the resources that the gRFCs require clients to reject.
	GRPC Profile = iota
	// Envoy is for proxies that are not gRPC. It accepts everything that the messages' own rules
	// (protoc-gen-validate) allow, and keeps unregistered extensions unchanged.
	Envoy
	// HTTP is for the HTTP clients and servers of package httpxds, which choose it themselves. It reads fields that gRPC
	// has no use for, such as redirects and rewrites, and rejects what these clients and servers do not support.
	HTTP
)

// String returns "gRPC", "Envoy" or "HTTP".
func (p Profile) String() string {
	switch p {
	case Envoy:
		return "Envoy"
	case HTTP:
		return "HTTP"
	default:
		return "gRPC"
	}
}

// Extend returns a set with the same types, the given profile, and further extensions. It returns
// errors for extensions with the same name at the same extension point, and for extensions that
// lack a required field. It reports all errors.
func (s *Set) Extend(profile Profile, extensions ...Extension) (*Set, error) {
	out := *s
	out.profile = profile
	out.extensions = make(map[extensionKey]Extension, len(s.extensions)+len(extensions))
	maps.Copy(out.extensions, s.extensions)
	var errs []error
	for _, e := range extensions {
		if err := checkExtension(e); err != nil {
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

// Fill returns a set with the same types and extensions, plus each given extension whose name is
// still free at its extension point. If two given extensions have the same name, one that can run
// has precedence over one that only reads configurations. Otherwise the earlier one has precedence.
// Fill returns an error for each extension that lacks a required field.
func (s *Set) Fill(extensions ...Extension) (*Set, error) {
	out := *s
	out.extensions = make(map[extensionKey]Extension, len(s.extensions)+len(extensions))
	maps.Copy(out.extensions, s.extensions)
	var errs []error
	var reading []Extension
	for _, e := range extensions {
		if err := checkExtension(e); err != nil {
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

// Extensions yields each registered extension once, ordered by its first name.
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

// Keep returns a set with the same types, and the extensions for which keep returns true.
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

// AddMessage adds the violations of the message's own rules (protoc-gen-validate), whether or not code
// was generated for them. The profile Envoy requires nothing else.
func (v *Violations) AddMessage(p Path, m proto.Message) {
	if err := new(annotations).validateRaw(m); err != nil {
		v.AddError(p, err)
	}
}

// checkExtension returns an error if an extension lacks a required field.
func checkExtension(e Extension) error {
	if e == nil {
		return errors.New("resource: a nil extension")
	}
	if v := reflect.ValueOf(e); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("resource: a nil %s", v.Type().Elem().Name())
	}
	return e.check()
}

// ExtensionNames returns the names of an extension, each with its extension point: "HTTP filter
// acme.Filter". Each may be registered only once. It returns an error if the extension lacks a
// required field.
func ExtensionNames(e Extension) ([]string, error) {
	if err := checkExtension(e); err != nil {
		return nil, err
	}
	keys := e.keys()
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, k.String())
	}
	return names, nil
}

// Profile returns the profile with which resources are validated.
func (s *Set) Profile() Profile {
	if s == nil {
		return GRPC
	}
	return s.profile
}

// HTTPFilter returns the HTTP filter with this configuration or override message.
func (s *Set) HTTPFilter(message string) (*HTTPFilter, bool) {
	return find[*HTTPFilter](s, pointHTTPFilter, message)
}

// LBPolicy returns the LB policy with this configuration message.
func (s *Set) LBPolicy(message string) (*LBPolicy, bool) {
	return find[*LBPolicy](s, pointLBPolicy, message)
}

// ClusterSpecifier returns the cluster specifier plugin with this configuration message.
func (s *Set) ClusterSpecifier(message string) (*ClusterSpecifier, bool) {
	return find[*ClusterSpecifier](s, pointClusterSpecifier, message)
}

// MetadataKind returns the metadata kind of a message.
func (s *Set) MetadataKind(message string) (*MetadataKind, bool) {
	return find[*MetadataKind](s, pointMetadata, message)
}

// CertificateProvider returns the certificate provider with this plugin name in the bootstrap.
func (s *Set) CertificateProvider(plugin string) (*CertificateProvider, bool) {
	return find[*CertificateProvider](s, pointCertificates, plugin)
}

// find returns the extension with this name at an extension point. A nil set has none.
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

// CertificateProvider returns an error if a certificate provider instance cannot be used (gRFC
// A29): it is not in the bootstrap, its plugin is not registered, or its configuration is invalid.
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
