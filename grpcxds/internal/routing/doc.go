// Package routing is what happens to a channel's calls before they are load-balanced: a
// route is chosen (gRFC A28), timeouts (A31), HTTP filters (A39), hashes (A42) and retries
// (A44) are applied.
//
// grpc-go keeps its ConfigSelector to itself, so that interceptors do all of this, and tell
// the pickers what they chose in the context (package rpcinfo). They have to be the
// innermost ones, to see the final method and headers. A [Channel] has the interceptors of
// one grpc.ClientConn, and the newest [Table] that they go by.
//
// # Retries
//
// A call is made again from here: grpc-go sees several. What comes back to the caller is
// the last attempt; nothing of the others is seen, and grpc.OnFinish is called once.
// Statistics handlers and binary logs see every attempt as a call.
//
//   - Unary calls: until the response's headers have arrived.
//   - Streams: as long as no header has arrived, and not more than 256 KiB (or
//     grpc.MaxRetryRPCBufferSize) of messages were sent. All of these must be protobuf
//     messages, which are copied; after any other, there are no retries.
//   - A call that load balancing drops (A32) is not made again.
//
// Since grpc-go does not tell interceptors about grpc.WithDisableRetry, it does not switch
// these retries off; [Channel].DisableRetries does.
package routing
