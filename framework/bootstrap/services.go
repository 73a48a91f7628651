package bootstrap

import (
	"fmt"
	"maps"
	"slices"
)

// maxGRPCServices is the limit of entries in allowed_grpc_services.
const maxGRPCServices = 1000

// GRPCServiceSpec has the credentials of a service that resources may name (gRFC A102).
type GRPCServiceSpec struct {
	// ChannelCreds are channel credentials. The client uses the first supported type. Required.
	ChannelCreds []CredsSpec `json:"channel_creds"`
	// CallCreds are call credentials. The client uses all supported types.
	CallCreds []CredsSpec `json:"call_creds,omitempty"`
}

// GRPCService returns the service with this target, if the bootstrap allows resources to name it (gRFC
// A102). The target must have the same spelling as in the bootstrap. The service is for resources of all
// authorities. It has credentials and no features.
func (c *Config) GRPCService(target string) (*Server, bool) {
	s, ok := c.services[target]
	return s, ok
}

// decodeGRPCServices reads the field allowed_grpc_services.
func decodeGRPCServices(o object) map[string]GRPCServiceSpec {
	var services map[string]GRPCServiceSpec
	for target, v := range o.entries("allowed_grpc_services") {
		if services == nil {
			services = make(map[string]GRPCServiceSpec)
		}
		o := v.object()
		services[target] = GRPCServiceSpec{ChannelCreds: decodeCreds(o, "channel_creds"), CallCreds: decodeCreds(o, "call_creds")}
	}
	return services
}

// buildGRPCServices validates the services.
func buildGRPCServices(p *problems, specs map[string]GRPCServiceSpec, o options) map[string]*Server {
	const path = "allowed_grpc_services"
	if len(specs) > maxGRPCServices {
		p.add(path, fmt.Sprintf("%d entries", len(specs)), fmt.Sprintf("must have at most %d", maxGRPCServices))
		return nil
	}
	services := make(map[string]*Server, len(specs))
	for _, target := range slices.Sorted(maps.Keys(specs)) {
		spec, entry := specs[target], entryPath(path, target)
		if target == "" {
			p.add(entry, text(target), "must be the target of a service (gRFC A102)")
			continue
		}
		if len(spec.ChannelCreds) == 0 {
			p.add(entry+".channel_creds", "missing", "must have a type that is supported: "+o.channelTypes())
			continue
		}
		services[target] = buildServer(p, entry, ServerSpec{URI: target, ChannelCreds: spec.ChannelCreds, CallCreds: spec.CallCreds}, o)
	}
	return services
}
