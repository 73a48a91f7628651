// Package server implements HTTP servers that control planes configure: gRFC A36 for net/http.
//
// A [Server] has one http.Server for all its ports. A port of package internal/dataplane/server hands it the connections
// of a filter chain, and the context of a connection has its filter chain. A request therefore knows its routes without
// a lookup.
//
// An old filter chain drains without closing a connection under a request: it adds "Connection: close" to its
// responses, which is a GOAWAY in HTTP/2. After the grace period it closes the connections that are left.
package server
