package cluster

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
)

// validateProfile checks the message's own rules in profile Envoy.
func validateProfile(_ *resource.DecodeContext, p resource.Path, m *clusterv3.Cluster, v *resource.Violations) {
	v.AddMessage(p, m)
}

// aggregated returns the clusters of an aggregate cluster (A37).
func aggregated(dc *resource.DecodeContext, m *clusterv3.Cluster_CustomClusterType) ([]string, error) {
	config := new(aggregatev3.ClusterConfig)
	c, err := dc.OpenTypedConfig(m.GetTypedConfig())
	if err == nil {
		if c.Message != string(config.ProtoReflect().Descriptor().FullName()) && dc.Types.Profile() == resource.Envoy {
			return nil, nil
		}
		err = c.Unmarshal(config)
	}
	var v resource.Violations
	p := (*resource.Path)(nil).Field("typed_config")
	switch {
	case err != nil:
		v.AddError(p, err)
	case len(config.GetClusters()) == 0:
		v.Add(p.Field("clusters"), nil, "must not be empty (A37)")
	}
	return config.GetClusters(), v.Err()
}

// refAggregated adds references to the clusters of an aggregate cluster.
func refAggregated(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	a, ok := u.Discovery.(Aggregate)
	if !ok {
		return
	}
	config := (*resource.Path)(nil).Field("cluster_type.typed_config")
	for i := range a.Clusters {
		dc.Ref(&u.meta, v, config.Item("clusters", i), messageName, &a.Clusters[i])
	}
}

// dnsTarget returns the only address of a load assignment. Rules check that it exists.
func dnsTarget(dc *resource.DecodeContext, m *endpointv3.ClusterLoadAssignment) (string, error) {
	var root *resource.Path
	var v resource.Violations
	for i, locality := range m.GetEndpoints() {
		for j, e := range locality.GetLbEndpoints() {
			locality := root.Item("endpoints", i)
			endpoint := locality.Item("lb_endpoints", j)
			return convert.HostPort(dc, endpoint.Field("endpoint.address"), e.GetEndpoint().GetAddress(), &v), v.Err()
		}
	}
	return "", nil
}

// defaultMaxEjectionTime is the lower bound of the default maximum (A50).
const defaultMaxEjectionTime = 300 * time.Second

// maxEjectionTime returns the limit of the ejection time. The default is the larger of 300
// s and the base ejection time. Rules check that both are valid durations.
func maxEjectionTime(_ *resource.DecodeContext, longest, base *durationpb.Duration) (time.Duration, error) {
	if longest == nil {
		return max(defaultMaxEjectionTime, base.AsDuration()), nil
	}
	var v resource.Violations
	return convert.Duration((*resource.Path)(nil).Field("max_ejection_time"), longest, &v), v.Err()
}

// clientTLS decodes TLS from the transport socket. Profile Envoy accepts other sockets.
func clientTLS(dc *resource.DecodeContext, socket []byte) (*tlscontext.Client, error) {
	tls, err := tlscontext.ForClient(dc, socket)
	if err != nil && dc.Types.Profile() == resource.Envoy {
		return nil, nil //nolint:nilnil // TransportSocket has the name of the message
	}
	return tls, err
}

// httpProxy reports whether the transport socket uses HTTP proxies, by the name of its
// message. clientTLS reports its errors.
func httpProxy(_ *resource.DecodeContext, message string) (bool, error) { //nolint:unparam // the type of a hook
	return tlscontext.UsesProxy(message), nil
}

// transportSocket returns the name of the message that configures the transport socket.
// clientTLS reports its errors.
func transportSocket(dc *resource.DecodeContext, socket []byte) (string, error) { //nolint:unparam // the type of a hook
	return tlscontext.Message(dc, socket), nil
}

// metadata decodes the cluster's metadata (A83).
func metadata(dc *resource.DecodeContext, m *corev3.Metadata) (map[string]resource.Metadatum, error) {
	return dc.Metadata(m)
}
