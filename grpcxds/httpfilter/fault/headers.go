package fault

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/internal/extensions/faults"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// The headers that select the faults of a call, if the configuration allows it (A33).
const (
	delayHeader      = "x-envoy-fault-delay-request" // milliseconds
	delayShareHeader = "x-envoy-fault-delay-request-percentage"
	abortGRPCHeader  = "x-envoy-fault-abort-grpc-request" // a gRPC status code
	abortHTTPHeader  = "x-envoy-fault-abort-request"      // an HTTP status
	abortShareHeader = "x-envoy-fault-abort-request-percentage"
)

// codeOf returns the status that the headers ask for: a gRPC code, or else an HTTP status. It returns pass if they
// have neither.
func codeOf(md metadata.MD) codes.Code {
	if n, ok := faults.Number(md[abortGRPCHeader]); ok && n <= uint32(codes.Unauthenticated) {
		return codes.Code(n)
	}
	if n, ok := faults.Number(md[abortHTTPHeader]); ok && n >= 200 && n < 600 {
		return codes.Code(config.CodeOf(n))
	}
	return pass
}
