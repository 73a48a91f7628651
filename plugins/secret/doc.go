// Package secret is the resource type envoy.extensions.transport_sockets.tls.v3.Secret
// (SDS). It has certificates, keys and the settings for verifying certificates.
//
// An update only describes the secret. It reads no file and no environment variable. The
// program decides whether to read those that a control plane names.
//
// The page docs/types/secret.md lists the fields with their sources and defaults, and the rules.
package secret

//go:generate go tool xdsgen resource.yaml
