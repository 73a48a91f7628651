// Package rbac parses and validates the configuration of the role-based access control
// filter for servers (gRFC A41), and evaluates its rules.
package rbac
