// Package extauthz runs the filter for external authorization on channels and servers (gRFC A92). Before a call starts, the
// filter asks an authorization server whether to allow the call. The response may also change the headers of the call.
//
// The authorization server implements envoy.service.auth.v3.Authorization. A102 decides which server a control plane may
// name; see package [github.com/xdsforge/xdsforge/framework/grpcservice].
package extauthz
