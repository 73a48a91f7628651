package extauthz

import (
	"time"

	extauthzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// A Config is the configuration of the filter.
type Config struct {
	// Service is the authorization server. Its Timeout is 5 s by default.
	Service *grpcservice.Service
	// EnabledPerMillion is the number of calls per million that are checked. Default 1,000,000.
	EnabledPerMillion uint32
	// DenyAtDisable denies the calls that are not checked, with StatusOnError.
	DenyAtDisable bool
	// FailureModeAllow allows calls whose check fails.
	FailureModeAllow bool
	// FailureModeHeader adds the header x-envoy-auth-failure-mode-allowed to the calls that FailureModeAllow allows.
	FailureModeHeader bool
	// StatusOnError is the gRPC status code of calls whose check fails. Default PERMISSION_DENIED.
	StatusOnError uint32
	// IncludePeerCertificate sends the client's certificate to the authorization server.
	IncludePeerCertificate bool
	// Headers selects the headers that the authorization server receives.
	Headers grpcheader.Selection
	// Rules decide which headers the authorization server may change.
	Rules grpcheader.Rules

	source *extauthzv3.ExtAuthz
}

// Equal reports whether both configure the same, for one sender.
func (c Config) Equal(o Config) bool { return proto.Equal(c.source, o.source) }

// perMillion is a share of all calls.
const perMillion = 1_000_000

const (
	// forbidden is the default of status_on_error: 403.
	forbidden = 403
	// defaultTimeout is the time limit of a check without grpc_service.timeout.
	defaultTimeout = 5 * time.Second
)

// Filter returns the filter. known reports whether the program has a resolver for a scheme of targets. Nil accepts every
// scheme. An override has no effect but to enable the filter: the generic field disabled disables it (A92).
func Filter(known func(scheme string) bool) *resource.HTTPFilter {
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
		Override: "envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
		Sides:    resource.ClientSide | resource.ServerSide,
		Parse: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			return parse(dc, c, known)
		},
		ParseOverride: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			return struct{}{}, c.Unmarshal(new(extauthzv3.ExtAuthzPerRoute))
		},
	}
}

func parse(dc *resource.DecodeContext, c resource.TypedConfig, known func(string) bool) (any, error) {
	m := new(extauthzv3.ExtAuthz)
	if err := c.Unmarshal(m); err != nil {
		return nil, err
	}
	if dc == nil {
		dc = new(resource.DecodeContext)
	}
	var v resource.Violations
	var root *resource.Path
	out := Config{
		EnabledPerMillion:      perMillion,
		FailureModeAllow:       m.GetFailureModeAllow(),
		FailureModeHeader:      m.GetFailureModeAllowHeaderAdd(),
		StatusOnError:          fault.CodeOf(forbidden),
		IncludePeerCertificate: m.GetIncludePeerCertificate(),
		Headers: grpcheader.Selection{
			Allowed:    grpcheader.ReadNames(dc, root.Field("allowed_headers"), m.GetAllowedHeaders(), &v),
			Disallowed: grpcheader.ReadNames(dc, root.Field("disallowed_headers"), m.GetDisallowedHeaders(), &v),
		},
		Rules:  grpcheader.ReadRules(dc, root.Field("decoder_header_mutation_rules"), m.GetDecoderHeaderMutationRules(), &v),
		source: m,
	}
	if m.GetGrpcService() == nil {
		v.Add(root.Field("grpc_service"), nil, "must be set (A92)")
	} else {
		out.Service = grpcservice.Read(dc, root.Field("grpc_service"), m.GetGrpcService(), known, &v)
		if out.Service.Timeout == 0 {
			out.Service.Timeout = defaultTimeout
		}
	}
	if e := m.GetFilterEnabled(); e != nil {
		p := root.Field("filter_enabled.default_value")
		if e.GetDefaultValue() == nil {
			v.Add(p, nil, "must be set (A92)")
		}
		out.EnabledPerMillion = convert.PerMillion(p, e.GetDefaultValue(), &v)
	}
	if d := m.GetDenyAtDisable(); d != nil {
		if d.GetDefaultValue() == nil {
			v.Add(root.Field("deny_at_disable.default_value"), nil, "must be set (A92)")
		}
		out.DenyAtDisable = d.GetDefaultValue().GetValue()
	}
	if s := m.GetStatusOnError(); s.GetCode() != 0 {
		out.StatusOnError = fault.CodeOf(uint32(s.GetCode())) //nolint:gosec // a negative number maps to UNKNOWN
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	return out, nil
}
