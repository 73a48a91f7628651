package route

import (
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// A RetryCondition is a condition of Envoy's retry_on. Conditions are flags.
type RetryCondition uint16

// The conditions.
const (
	Retry5xx RetryCondition = 1 << iota
	RetryGatewayError
	RetryReset
	RetryResetBeforeRequest
	RetryConnectFailure
	RetryRefusedStream
	RetryRetriable4xx
	RetryStatusCodes
	RetryHeaders
	RetryEnvoyRateLimited
)

// An HTTPRetry configures when to retry requests, as Envoy does.
type HTTPRetry struct {
	On RetryCondition
	// GRPC has the codes of gRPC to retry, one bit for each.
	GRPC uint32
	// Statuses are the codes of RetryStatusCodes.
	Statuses []uint32
	// Headers are the matchers of RetryHeaders. A response that matches one of them is retried.
	Headers []matcher.Header
	// RequestHeaders limit retries to requests that match one of them. Without matchers, all requests are retried.
	RequestHeaders []matcher.Header
	// Max is the limit of retries after the first attempt. Default 1.
	Max uint32
	// PerTry is the limit of an attempt, up to the headers of its response. 0: only that of the route.
	PerTry time.Duration
	// BackOff is the delay between attempts, with full jitter.
	BackOff BackOff
}

// conditions returns the conditions by name.
func conditions() map[string]RetryCondition {
	return map[string]RetryCondition{
		"5xx": Retry5xx, "gateway-error": RetryGatewayError, "reset": RetryReset, "reset-before-request": RetryResetBeforeRequest,
		"connect-failure": RetryConnectFailure, "refused-stream": RetryRefusedStream, "retriable-4xx": RetryRetriable4xx,
		"retriable-status-codes": RetryStatusCodes, "retriable-headers": RetryHeaders, "envoy-ratelimited": RetryEnvoyRateLimited,
	}
}

// retry decodes a retry policy. It ignores unknown conditions, as Envoy does.
func (d httpDecoder) retry(p resource.Path, m *routev3.RetryPolicy) *HTTPRetry {
	if m == nil {
		return nil
	}
	out := &HTTPRetry{Max: 1, Statuses: m.GetRetriableStatusCodes()}
	all := conditions()
	for name := range strings.SplitSeq(m.GetRetryOn(), ",") {
		out.On |= all[strings.TrimSpace(name)]
	}
	codes, _ := retryCodes(d.dc, m.GetRetryOn()) // it returns no error
	for _, c := range codes {
		out.GRPC |= 1 << c
	}
	if n := m.GetNumRetries(); n != nil {
		out.Max = n.GetValue()
	}
	if t := m.GetPerTryTimeout(); t != nil {
		out.PerTry = d.limit(p.Field("per_try_timeout"), t)
	}
	for i, h := range m.GetRetriableHeaders() {
		out.Headers = append(out.Headers, convert.Header(d.dc, p.Item("retriable_headers", i), h, d.v))
	}
	for i, h := range m.GetRetriableRequestHeaders() {
		out.RequestHeaders = append(out.RequestHeaders, convert.Header(d.dc, p.Item("retriable_request_headers", i), h, d.v))
	}
	var err error
	if out.BackOff, err = retryBackOff(d.dc, m.GetRetryBackOff()); err != nil {
		d.v.AddError(p.Field("retry_back_off"), err)
	}
	return out
}

// buffers is a message with limits of the bytes of a request that are kept.
type buffers interface {
	GetRequestBodyBufferLimit() *wrapperspb.UInt64Value
	GetPerRequestBufferLimitBytes() *wrapperspb.UInt32Value // deprecated; request_body_buffer_limit has precedence
}

// retryBuffer returns the limit of a message, or outer if it has none.
func retryBuffer(m buffers, outer uint64) uint64 {
	if l := m.GetRequestBodyBufferLimit(); l != nil {
		return l.GetValue()
	}
	if l := m.GetPerRequestBufferLimitBytes(); l != nil {
		return uint64(l.GetValue())
	}
	return outer
}
