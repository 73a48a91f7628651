// Package grpctransport reaches control planes with grpc-go.
//
// Messages pass through as bytes: the codec neither marshals nor unmarshals. Credentials are
// selected by their names in the bootstrap file. The channel credentials are insecure, tls (gRFC
// A65; changed files are read again) and google_default (gRFC A27). The call credentials are
// jwt_token_file (gRFC A97). [WithChannelCredentials] adds others.
//
// Only the framework decides when to retry. After a failure, the next attempt makes a new
// connection immediately instead of waiting for grpc-go's own backoff.
//
// Streams share a connection as long as the server allows it. A stream that has waited 100 ms for
// the server's limit on streams gets another connection, up to the limit of [WithMaxConnections].
// If a server accepts connections but grants no stream on any of them, the attempt fails after
// [WithStreamTimeout]. grpc-go alone would wait for ever.
package grpctransport
