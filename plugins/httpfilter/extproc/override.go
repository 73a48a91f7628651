package extproc

import (
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"

	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// An Override replaces the fields of a [Config] that it sets. The generic field disabled disables the filter, not the one
// of ExtProcPerRoute (A93).
type Override struct {
	service             *grpcservice.Service
	modes               *Modes
	failureModeAllow    *bool
	requests, responses []string
}

// Apply returns the configuration with the fields of the override.
func (o Override) Apply(c Config) Config {
	if o.service != nil {
		c.Service = o.service
	}
	if o.modes != nil {
		c.Modes = *o.modes
	}
	if o.failureModeAllow != nil {
		c.FailureModeAllow = *o.failureModeAllow
	}
	if len(o.requests) > 0 {
		c.RequestAttributes = o.requests
	}
	if len(o.responses) > 0 {
		c.ResponseAttributes = o.responses
	}
	return c
}

func parseOverride(dc *resource.DecodeContext, c resource.TypedConfig, known func(string) bool) (any, error) {
	per := new(extprocv3.ExtProcPerRoute)
	if err := c.Unmarshal(per); err != nil {
		return nil, err
	}
	if dc == nil {
		dc = new(resource.DecodeContext)
	}
	var v resource.Violations
	m, p := per.GetOverrides(), (*resource.Path)(nil).Field("overrides")
	out := Override{
		requests:  readAttributes(p.Field("request_attributes"), m.GetRequestAttributes(), &v),
		responses: readAttributes(p.Field("response_attributes"), m.GetResponseAttributes(), &v),
	}
	if m.GetGrpcService() != nil {
		out.service = grpcservice.Read(dc, p.Field("grpc_service"), m.GetGrpcService(), known, &v)
	}
	if m.GetProcessingMode() != nil {
		modes := readModes(p.Field("processing_mode"), m.GetProcessingMode(), &v)
		out.modes = &modes
	}
	if b := m.GetFailureModeAllow(); b != nil {
		allow := b.GetValue()
		out.failureModeAllow = &allow
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	return out, nil
}
