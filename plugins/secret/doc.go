// Package secret is the resource type
// envoy.extensions.transport_sockets.tls.v3.Secret (SDS): certificates, keys and
// what certificates are checked against.
//
// An update says what the control plane wants to be used. It reads no file and no
// variable: whether those that a control plane names may be, is for the program to
// say.
package secret

//go:generate go tool xdsgen resource.yaml
