package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// or returns a value, or its default if it is not set.
func or(m *wrapperspb.UInt32Value, otherwise uint32) uint32 {
	if m == nil {
		return otherwise
	}
	return m.GetValue()
}

// httpLimits decodes the circuit breakers of the default priority, with the defaults of Envoy.
func httpLimits(p *resource.Path, m *clusterv3.Cluster, v *resource.Violations) HTTPLimits {
	const most, retries, budget = 1024, 3, 20
	out := HTTPLimits{Connections: most, Pending: most, Retries: retries, PerConnection: perConnection(p, m, v)}
	for _, t := range m.GetCircuitBreakers().GetThresholds() {
		if t.GetPriority() != corev3.RoutingPriority_DEFAULT {
			continue
		}
		out.Connections, out.Pending = or(t.GetMaxConnections(), most), or(t.GetMaxPendingRequests(), most)
		out.Retries = or(t.GetMaxRetries(), retries)
		if b := t.GetRetryBudget(); b != nil {
			out.HasBudget, out.Budget, out.BudgetMin = true, budget, or(b.GetMinRetryConcurrency(), retries)
			if b.GetBudgetPercent() != nil {
				out.Budget = b.GetBudgetPercent().GetValue()
			}
		}
		break // the first one applies, as for max_requests
	}
	return out
}

// perConnection returns the limit of requests on one connection. The HttpProtocolOptions have precedence.
func perConnection(p *resource.Path, m *clusterv3.Cluster, v *resource.Violations) uint32 {
	if a, ok := m.GetTypedExtensionProtocolOptions()[protocolOptions]; ok {
		if b := wire.Field(a.GetValue(), 1); b != nil {
			common := new(corev3.HttpProtocolOptions)
			if err := proto.Unmarshal(b, common); err != nil {
				v.AddError(p.Field("typed_extension_protocol_options["+protocolOptions+"].common_http_protocol_options"), err)
			}
			return common.GetMaxRequestsPerConnection().GetValue()
		}
	}
	if n := m.GetCommonHttpProtocolOptions().GetMaxRequestsPerConnection(); n != nil { //nolint:staticcheck // control planes still send it
		return n.GetValue()
	}
	return m.GetMaxRequestsPerConnection().GetValue() //nolint:staticcheck // control planes still send it
}

// httpOutlier decodes the settings of outlier detection that gRPC ignores (A50), with the defaults of Envoy.
func httpOutlier(m *clusterv3.OutlierDetection) HTTPOutlier {
	const failures, always = 5, 100
	return HTTPOutlier{
		FiveXX: or(m.GetConsecutive_5Xx(), failures), FiveXXChance: or(m.GetEnforcingConsecutive_5Xx(), always),
		Gateway: or(m.GetConsecutiveGatewayFailure(), failures), GatewayChance: or(m.GetEnforcingConsecutiveGatewayFailure(), 0),
		Split: m.GetSplitExternalLocalOriginErrors(),
		Local: or(m.GetConsecutiveLocalOriginFailure(), failures), LocalChance: or(m.GetEnforcingConsecutiveLocalOriginFailure(), always),
		LocalSuccessRate:       or(m.GetEnforcingLocalOriginSuccessRate(), always),
		LocalFailurePercentage: or(m.GetEnforcingFailurePercentageLocalOrigin(), 0),
	}
}
