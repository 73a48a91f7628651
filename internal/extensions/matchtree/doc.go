// Package matchtree decodes the unified matcher xds.type.matcher.v3.Matcher, and evaluates it for gRPC calls (gRFC A106)
// and HTTP requests.
//
// [Read] creates a [Tree], which is immutable. The caller reads the actions. The tree yields the first action whose
// conditions match. If a nested matcher finds nothing, the search continues with the later matchers of the outer one, as in
// Envoy and gRPC C++ (ADR 297).
//
// The inputs are a header of the request and the attributes for CEL. Code outside of this module's packages evaluates CEL: it
// registers a resource.InputMatcher, whose result implements [Custom].
package matchtree
