// Package grpctransport reaches control planes with grpc-go.
//
// Messages pass through as bytes: the codec neither marshals nor unmarshals.
// Credentials are built by the names that bootstrap files use: channel
// credentials insecure, tls (gRFC A65; files are read again as they change) and
// google_default (gRFC A27), call credentials jwt_token_file (gRFC A97), and
// those a program adds with [WithChannelCredentials].
//
// The framework alone decides when to try again: a connection that failed is
// made anew at the next attempt instead of waiting for grpc-go's own backoff.
//
// Streams share a connection as long as the server allows it. When a stream has waited
// 100 ms for the server's limit on streams, it gets another connection, up to the number of
// [WithMaxConnections].
// A server that accepts connections but grants no stream on any of them fails the
// attempt after [WithStreamTimeout]; grpc-go alone would wait for ever.
package grpctransport
