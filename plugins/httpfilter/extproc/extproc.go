package extproc

import (
	"fmt"
	"time"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"

	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
)

// A Config is the configuration of the filter.
type Config struct {
	// Service is the processor.
	Service *grpcservice.Service
	// MessageTimeout is the time for which a call waits for a processor that is silent. Zero means the default; see AnswerTimeout.
	MessageTimeout time.Duration
	// Modes selects the events that the processor receives.
	Modes Modes
	// FailureModeAllow lets calls continue without the filter if the stream to the processor fails before a message was
	// sent on it. Otherwise such calls end with INTERNAL.
	FailureModeAllow bool
	// RequestAttributes and ResponseAttributes are the names of the attributes that the processor receives with the first
	// event of each direction. Unknown names have no effect.
	RequestAttributes, ResponseAttributes []string
	// Rules decide which headers the processor may change.
	Rules grpcheader.Rules
	// Headers selects the headers that the processor receives.
	Headers grpcheader.Selection
	// DisableImmediateResponse makes an immediate response a failure of the stream.
	DisableImmediateResponse bool
	// ObservabilityMode sends events without waiting for responses. The processor changes nothing.
	ObservabilityMode bool
	// DeferredCloseTimeout is the time that the stream to the processor stays open after the call, in observability mode.
	// Default 5 s.
	DeferredCloseTimeout time.Duration
}

const (
	// maxAttributes limits each list of attributes.
	maxAttributes        = 100
	defaultDeferredClose = 5 * time.Second
	// defaultAnswer is the time limit of a silence without message_timeout and grpc_service.timeout.
	defaultAnswer = 10 * time.Second
)

// AnswerTimeout returns the time for which a call waits for a processor that is silent: MessageTimeout, or else the time limit of
// the service, or else 10 s.
func (c Config) AnswerTimeout() time.Duration {
	switch {
	case c.MessageTimeout > 0:
		return c.MessageTimeout
	case c.Service != nil && c.Service.Timeout > 0:
		return c.Service.Timeout
	}
	return defaultAnswer
}

// Filter returns the filter. known reports whether the program has a resolver for a scheme of targets. Nil accepts every
// scheme. Parse returns a [Config], and ParseOverride an [Override].
func Filter(known func(scheme string) bool) *resource.HTTPFilter {
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
		Override: "envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute",
		Sides:    resource.ClientSide | resource.ServerSide,
		Parse: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			return parse(dc, c, known)
		},
		ParseOverride: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			return parseOverride(dc, c, known)
		},
	}
}

func parse(dc *resource.DecodeContext, c resource.TypedConfig, known func(string) bool) (any, error) {
	m := new(extprocv3.ExternalProcessor)
	if err := c.Unmarshal(m); err != nil {
		return nil, err
	}
	if dc == nil {
		dc = new(resource.DecodeContext)
	}
	var v resource.Violations
	var root *resource.Path
	forward := root.Field("forward_rules")
	out := Config{
		FailureModeAllow:         m.GetFailureModeAllow(),
		RequestAttributes:        readAttributes(root.Field("request_attributes"), m.GetRequestAttributes(), &v),
		ResponseAttributes:       readAttributes(root.Field("response_attributes"), m.GetResponseAttributes(), &v),
		Rules:                    grpcheader.ReadRules(dc, root.Field("mutation_rules"), m.GetMutationRules(), &v),
		DisableImmediateResponse: m.GetDisableImmediateResponse(),
		ObservabilityMode:        m.GetObservabilityMode(),
		DeferredCloseTimeout:     defaultDeferredClose,
		Headers: grpcheader.Selection{
			Allowed:    grpcheader.ReadNames(dc, forward.Field("allowed_headers"), m.GetForwardRules().GetAllowedHeaders(), &v),
			Disallowed: grpcheader.ReadNames(dc, forward.Field("disallowed_headers"), m.GetForwardRules().GetDisallowedHeaders(), &v),
		},
	}
	if m.GetGrpcService() == nil {
		v.Add(root.Field("grpc_service"), nil, "must be set (A93)")
	} else {
		out.Service = grpcservice.Read(dc, root.Field("grpc_service"), m.GetGrpcService(), known, &v)
	}
	if m.GetProcessingMode() == nil {
		v.Add(root.Field("processing_mode"), nil, "must be set (A93)")
	} else {
		out.Modes = readModes(root.Field("processing_mode"), m.GetProcessingMode(), &v)
	}
	if d := m.GetDeferredCloseTimeout(); d != nil {
		p := root.Field("deferred_close_timeout")
		if out.DeferredCloseTimeout = convert.Duration(p, d, &v); out.DeferredCloseTimeout <= 0 {
			v.Add(p, out.DeferredCloseTimeout, "must be a duration above 0s (A93)")
		}
	}
	if d := m.GetMessageTimeout(); d != nil {
		p := root.Field("message_timeout")
		if out.MessageTimeout = convert.Duration(p, d, &v); out.MessageTimeout < 0 {
			v.Add(p, out.MessageTimeout, "must be a duration of at least 0s")
		}
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

func readAttributes(p resource.Path, names []string, v *resource.Violations) []string {
	if len(names) > maxAttributes {
		v.Add(p, len(names), fmt.Sprintf("must have at most %d entries", maxAttributes))
		return nil
	}
	return names
}
