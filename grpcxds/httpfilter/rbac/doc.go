// Package rbac runs the role-based access control filter of servers (gRFC A41), with its
// audit loggers (A59). The other half, which reads and validates configurations, is
// plugins/httpfilter/rbac.
//
// It goes by what a call's [httpfilter.ServerCall] says, whoever made the connection: the
// peer's identity is that of any credentials whose AuthInfo is a [credentials.TLSInfo].
package rbac
