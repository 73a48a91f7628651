// Package rbac runs the role-based access control filter of servers (gRFC A41), with its audit loggers (A59). Package
// plugins/httpfilter/rbac reads and validates its configurations.
//
// The filter uses only the fields of [httpfilter.ServerCall], so it works with any connection. The peer's identity
// comes from any credentials whose AuthInfo is a [credentials.TLSInfo].
package rbac
