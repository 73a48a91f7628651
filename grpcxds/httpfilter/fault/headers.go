package fault

import (
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

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

// number returns the first value of a header that is a number. It ignores other values (A33).
func number(md metadata.MD, header string) (uint32, bool) {
	for _, v := range md[header] {
		if n, err := strconv.ParseUint(v, 10, 32); err == nil {
			return uint32(n), true
		}
	}
	return 0, false
}

// lower returns the share of calls, in a million, that a header asks for. The share of the configuration is the upper
// limit.
func lower(md metadata.MD, header string, unit, share uint32) uint32 {
	n, ok := number(md, header)
	if !ok {
		return share
	}
	return uint32(min(uint64(n)*uint64(unit), uint64(share))) //nolint:gosec // it is at most share
}

// codeOf returns the status that the headers ask for: a gRPC code, or else an HTTP status. It returns pass if they
// have neither.
func codeOf(md metadata.MD) codes.Code {
	if n, ok := number(md, abortGRPCHeader); ok && n <= uint32(codes.Unauthenticated) {
		return codes.Code(n)
	}
	if n, ok := number(md, abortHTTPHeader); ok && n >= 200 && n < 600 {
		return codes.Code(config.CodeOf(n))
	}
	return pass
}
