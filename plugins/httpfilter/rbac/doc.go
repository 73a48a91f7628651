// Package rbac is the role-based access control filter of servers (gRFC A41): its
// configuration, read and validated.
package rbac
