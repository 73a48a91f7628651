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

// validateProfile checks, for proxies that are not gRPC, the message's own rules.
func validateProfile(_ *resource.DecodeContext, p resource.Path, m *clusterv3.Cluster, v *resource.Violations) {
	resource.ValidateMessage(p, m, v)
}

// aggregated are the clusters of an aggregate one (A37).
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

// refAggregated notes the clusters to which an aggregate one refers.
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

// dnsTarget is the one address of a load assignment; the rules say that it is there.
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

// defaultMaxEjectionTime is what a cluster need not say (A50).
const defaultMaxEjectionTime = 300 * time.Second

// maxEjectionTime is the longest ejection: what the cluster says, or else 300 s or
// one ejection, whatever is larger. That both are durations is said elsewhere.
func maxEjectionTime(_ *resource.DecodeContext, longest, base *durationpb.Duration) (time.Duration, error) {
	if longest == nil {
		return max(defaultMaxEjectionTime, base.AsDuration()), nil
	}
	var v resource.Violations
	return convert.Duration((*resource.Path)(nil).Field("max_ejection_time"), longest, &v), v.Err()
}

// clientTLS is what TLS is read of the transport socket. A proxy that is not gRPC
// may have other sockets.
func clientTLS(dc *resource.DecodeContext, socket []byte) (*tlscontext.Client, error) {
	tls, err := tlscontext.ForClient(dc, socket)
	if err != nil && dc.Types.Profile() == resource.Envoy {
		return nil, nil //nolint:nilnil // TransportSocket says that there is something
	}
	return tls, err
}

// httpProxy tells a transport socket that uses proxies by its message; what is wrong
// with it is clientTLS's to say.
func httpProxy(_ *resource.DecodeContext, message string) (bool, error) { //nolint:unparam // the type of a hook
	return tlscontext.UsesProxy(message), nil
}

// transportSocket names the message that configures the transport socket; what is
// wrong with that is clientTLS's to say.
func transportSocket(dc *resource.DecodeContext, socket []byte) (string, error) { //nolint:unparam // the type of a hook
	return tlscontext.Message(dc, socket), nil
}

// metadata reads the cluster's metadata (A83).
func metadata(dc *resource.DecodeContext, m *corev3.Metadata) (map[string]resource.Metadatum, error) {
	return dc.Metadata(m)
}
