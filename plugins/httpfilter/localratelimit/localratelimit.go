package localratelimit

import (
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/internal/extensions/headerchange"
)

// A Config limits the rate of requests.
type Config struct {
	// Bucket has the tokens. Nil: no limit.
	Bucket *Bucket
	// Enabled is the share of requests that take a token, per million. Default 0, as in Envoy.
	Enabled uint32
	// Enforced is the share of requests without a token that are rejected, per million. Default 0, as in Envoy.
	Enforced uint32
	// Status is the status code of rejected requests. Default 429.
	Status int
	// Headers change the headers of the responses to rejected requests.
	Headers []headerchange.Change
	// RetryAfter adds the header Retry-After to these responses.
	RetryAfter bool
}

// A Bucket has at most Max tokens, and gets PerFill more after each Interval.
type Bucket struct {
	Max, PerFill uint32
	Interval     time.Duration
}

// minInterval is the shortest interval that Envoy accepts.
const minInterval = 50 * time.Millisecond

// Filter returns the local rate limit filter. Its overrides have the same form as its configuration. It rejects
// descriptors and limits for each connection, which are not supported.
func Filter() *resource.HTTPFilter {
	const message = "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit"
	return &resource.HTTPFilter{
		Config: message, Override: message, Sides: resource.ServerSide,
		Parse: parse, ParseOverride: parse,
	}
}

func parse(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
	m := new(ratelimitv3.LocalRateLimit)
	if err := c.Unmarshal(m); err != nil {
		return nil, err
	}
	var v resource.Violations
	var root *resource.Path
	unsupported := func(field string, set bool) {
		if set {
			v.Add(root.Field(field), nil, "must not be set, because it is not supported")
		}
	}
	unsupported("descriptors", len(m.GetDescriptors()) > 0)
	unsupported("rate_limits", len(m.GetRateLimits()) > 0)
	unsupported("local_cluster_rate_limit", m.GetLocalClusterRateLimit() != nil)
	unsupported("local_rate_limit_per_downstream_connection", m.GetLocalRateLimitPerDownstreamConnection())
	unsupported("request_headers_to_add_when_not_enforced", len(m.GetRequestHeadersToAddWhenNotEnforced()) > 0)
	out := Config{Status: 429, RetryAfter: m.GetEnableRetryAfterHeader(), Bucket: bucket(root.Field("token_bucket"), m.GetTokenBucket(), &v)}
	if f := m.GetFilterEnabled(); f != nil {
		out.Enabled = convert.PerMillion(root.Field("filter_enabled.default_value"), f.GetDefaultValue(), &v)
	}
	if f := m.GetFilterEnforced(); f != nil {
		out.Enforced = convert.PerMillion(root.Field("filter_enforced.default_value"), f.GetDefaultValue(), &v)
	}
	if code := int(m.GetStatus().GetCode()); code >= 400 && code <= 599 { // as in Envoy, others become 429
		out.Status = code
	}
	for i, h := range m.GetResponseHeadersToAdd() {
		if change, ok := headerchange.Option(root.Item("response_headers_to_add", i), h, &v); ok {
			out.Headers = append(out.Headers, change)
		}
	}
	return out, v.Err()
}

func bucket(p resource.Path, m *typev3.TokenBucket, v *resource.Violations) *Bucket {
	if m == nil {
		return nil
	}
	b := &Bucket{Max: m.GetMaxTokens(), PerFill: 1, Interval: convert.Duration(p.Field("fill_interval"), m.GetFillInterval(), v)}
	if m.GetTokensPerFill() != nil {
		b.PerFill = m.GetTokensPerFill().GetValue()
	}
	if b.Max == 0 {
		v.Add(p.Field("max_tokens"), b.Max, "must be at least 1")
	}
	if b.PerFill == 0 {
		v.Add(p.Field("tokens_per_fill"), b.PerFill, "must be at least 1")
	}
	if b.Interval < minInterval {
		v.Add(p.Field("fill_interval"), b.Interval, "must be at least 50ms")
	}
	return b
}
