// Package routing processes a channel's calls before they are load-balanced. It chooses a route
// (gRFC A28) and applies timeouts (A31), HTTP filters (A39), hashes (A42) and retries (A44).
//
// grpc-go does not export its ConfigSelector. Interceptors do this work instead, and pass their
// choices to the pickers in the context (package lbtree). They must be the innermost interceptors,
// to see the final method and headers. A [Channel] has the interceptors of one grpc.ClientConn, and
// the newest [Table], which they route calls with.
//
// # Retries
//
// This package retries calls, so grpc-go sees several calls. The caller gets the result of the last
// attempt and sees nothing of the others. grpc.OnFinish is called once. Statistics handlers and
// binary logs see every attempt as a call.
//
//   - Unary calls are retried until the response's headers are received.
//   - Streams are retried until a header is received, if they have sent at most 256 KiB of
//     messages (or grpc.MaxRetryRPCBufferSize). All messages must be protobuf messages, which
//     are copied. After any other message, there are no retries.
//   - A call that load balancing drops (A32) is not retried.
//
// grpc-go does not tell interceptors about grpc.WithDisableRetry, so it does not disable these
// retries. [Channel].DisableRetries does.
package routing
