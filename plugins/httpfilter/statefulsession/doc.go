// Package statefulsession parses and validates the configuration of the stateful session
// filter for clients (gRFC A55). The filter keeps the calls of a session on one endpoint by
// a cookie.
package statefulsession
