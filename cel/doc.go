// Package cel evaluates CEL in the matchers of HTTP filters (gRFC A106). Register it beside the other types of an Env:
//
//	xdsforge.WithTypes(grpcxds.Register, httpxds.Register, cel.Register)
//
// Without it, the client rejects resources with CEL. It is a module of its own, because it links the implementation of CEL and
// the parser generator that this needs.
//
// # Expressions
//
// The control plane sends checked expressions (cel.expr.CheckedExpr). The package checks them again with the types of A106 when it
// decodes the resource, and compiles them once. An expression must be of type bool. It must not have comprehensions, messages,
// conversions to strings, and concatenations of strings, bytes and lists. Regular expressions compile to at most 100 instructions.
// Those that are no constants have at most 1,024 bytes. An expression has at most 10,000 nodes and 100 calls of the function
// matches. Each node is evaluated at most once for a call.
//
// # Attributes
//
// The variable request has path, url_path, host, method, headers, referer, useragent, id and query. On channels, host
// and useragent are missing, because gRPC adds these headers below the filters. The map xds.cluster_metadata.filter_metadata has
// the metadata of the call's cluster on channels and HTTP clients (gRFC A103). On servers, source has address and port, and
// connection has requested_server_name, tls_version and sha256_peer_certificate_digest. An expression that uses a missing
// attribute, or fails otherwise, does not match.
//
// The HTTP requests of package httpxds also have request.scheme, and HTTP clients have request.host. The query of a gRPC call is
// empty. The case of a name in request.headers does not matter for HTTP requests. On HTTP servers, request.path and request.url_path
// have the path that the handler serves, without escapes; HTTP clients have it as it is sent. Headers that net/http adds later, such as
// a default User-Agent, are missing on HTTP clients.
package cel
