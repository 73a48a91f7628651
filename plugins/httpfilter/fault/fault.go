package fault

import (
	"time"

	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// A Config selects calls to delay and calls to abort. Each selection is independent of the
// other.
type Config struct {
	Delay *Delay // nil delays no call
	Abort *Abort // nil aborts no call
	// MaxActive is the limit of concurrent calls with a fault. Nil means no limit.
	MaxActive *uint32
	// Only limits faults to some requests. Only profile HTTP reads it. Nil means all requests.
	Only *Selection
}

// A Selection selects requests. They must match all conditions.
type Selection struct {
	// Cluster is the cluster of the requests. If it is empty, they may have any.
	Cluster string
	// Headers match headers of the requests.
	Headers []matcher.Header
}

// A Delay delays calls.
type Delay struct {
	PerMillion uint32
	// Duration is the delay. With FromHeaders, the call's header
	// x-envoy-fault-delay-request sets it.
	Duration    time.Duration
	FromHeaders bool
	// Unit is the number of calls per million that correspond to one in the header
	// x-envoy-fault-delay-request-percentage. The header can lower PerMillion. Unit is 0
	// unless FromHeaders is set.
	Unit uint32
}

// An Abort fails calls.
type Abort struct {
	PerMillion uint32
	// Code is the gRPC status code of the error. With FromHeaders, the call's headers
	// x-envoy-fault-abort-grpc-request and x-envoy-fault-abort-request set it.
	Code        uint32
	FromHeaders bool
	// Status is the HTTP status of the configuration, from which Code is derived. It is 0 if the configuration has a gRPC
	// status code.
	Status uint32
	// Unit is the number of calls per million that correspond to one in the header
	// x-envoy-fault-abort-request-percentage. The header can lower PerMillion. Unit is 0
	// unless FromHeaders is set.
	Unit uint32
}

// Filter returns the fault injection filter. Its overrides have the same form as its
// configuration.
func Filter() *resource.HTTPFilter {
	const message = "envoy.extensions.filters.http.fault.v3.HTTPFault"
	return &resource.HTTPFilter{
		Config: message, Override: message, Sides: resource.ClientSide,
		Parse: parse, ParseOverride: parse,
	}
}

func parse(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
	b, err := c.Encoded((*faultv3.HTTPFault)(nil))
	if err != nil {
		return nil, err
	}
	var m faultView
	r := wire.Read(b)
	m.parse(&r)
	var v resource.Violations
	var root *resource.Path
	out := Config{
		Delay: readDelay(root.Field("delay"), &m.delay, &v),
		Abort: readAbort(root.Field("abort"), &m.abort, &v),
	}
	if m.limited {
		out.MaxActive = new(m.maxActives.Value)
	}
	if dc != nil && dc.Types.Profile() == resource.HTTP {
		whole := new(faultv3.HTTPFault)
		if err := c.Unmarshal(whole); err != nil {
			return nil, err
		}
		readHTTP(dc, &out, whole, &v)
	}
	return out, v.Err()
}

// readHTTP reads the fields that gRPC ignores (A33).
func readHTTP(dc *resource.DecodeContext, out *Config, m *faultv3.HTTPFault, v *resource.Violations) {
	var root *resource.Path
	if m.GetUpstreamCluster() != "" || len(m.GetHeaders()) > 0 {
		out.Only = &Selection{Cluster: m.GetUpstreamCluster()}
	}
	for i, h := range m.GetHeaders() {
		out.Only.Headers = append(out.Only.Headers, convert.Header(dc, root.Item("headers", i), h, v))
	}
	if len(m.GetDownstreamNodes()) > 0 {
		v.Add(root.Field("downstream_nodes"), len(m.GetDownstreamNodes()), "must not be set, because it is not supported")
	}
	if m.GetResponseRateLimit() != nil {
		v.Add(root.Field("response_rate_limit"), nil, "must not be set, because it is not supported")
	}
}

func readDelay(p resource.Path, m *delayView, v *resource.Violations) *Delay {
	if !m.set {
		return nil
	}
	d := &Delay{PerMillion: m.percentage.perMillion(p.Field("percentage"), v)}
	switch m.member {
	case fixedDelay:
		if d.Duration = convert.Duration(p.Field("fixed_delay"), m.fixed, v); d.Duration < 0 {
			v.Add(p.Field("fixed_delay"), d.Duration, "must be at least 0s (A33)")
		}
	case headerDelay:
		d.FromHeaders, d.Unit = true, unit(m.percentage)
	default:
		v.Add(p, nil, "must have exactly one of fixed_delay, header_delay set (A33)")
	}
	return d
}

func readAbort(p resource.Path, m *abortView, v *resource.Violations) *Abort {
	if !m.set {
		return nil
	}
	a := &Abort{PerMillion: m.percentage.perMillion(p.Field("percentage"), v)}
	switch m.member {
	case httpStatus:
		if m.status < 200 || m.status > 599 {
			v.Add(p.Field("http_status"), m.status, "must be between 200 and 599 (A33)")
		}
		a.Code, a.Status = CodeOf(m.status), m.status
	case grpcStatus:
		if a.Code = m.status; a.Code > 16 {
			v.Add(p.Field("grpc_status"), a.Code, "must be a gRPC status code (A33)")
		}
	case headerAbort:
		a.FromHeaders, a.Unit = true, unit(m.percentage)
	default:
		v.Add(p, nil, "must have exactly one of http_status, grpc_status, header_abort set (A33)")
	}
	return a
}

// unit returns the number per million that corresponds to one of a fraction's denominator.
func unit(m percentView) uint32 {
	switch m.GetDenominator() {
	case typev3.FractionalPercent_MILLION:
		return 1
	case typev3.FractionalPercent_TEN_THOUSAND:
		return 100
	default:
		return 10_000
	}
}

// CodeOf maps an HTTP status to a gRPC status code (grpc/doc/http-grpc-status-mapping.md).
// It maps 200 to UNKNOWN, too.
func CodeOf(status uint32) uint32 {
	const (
		unknown, permissionDenied, unimplemented = 2, 7, 12
		internal, unavailable, unauthenticated   = 13, 14, 16
	)
	switch status {
	case 400:
		return internal
	case 401:
		return unauthenticated
	case 403:
		return permissionDenied
	case 404:
		return unimplemented
	case 429, 502, 503, 504:
		return unavailable
	default:
		return unknown
	}
}
