package cluster

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// Static has the endpoints in the cluster itself. Only profile HTTP has it.
type Static struct {
	// Endpoints is an *endpoint.Update.
	Endpoints resource.Update
}

func (Static) isDiscovery() {}

// Equal reports whether o is a Static with the same endpoints.
func (s Static) Equal(o Discovery) bool {
	other, ok := o.(Static)
	return ok && convert.EqualUpdates(s.Endpoints, other.Endpoints)
}

// StrictDNS has DNS names as endpoints in the cluster itself. Each address of a name is an endpoint. Only profile HTTP has it.
type StrictDNS struct {
	// Endpoints is an *endpoint.Update.
	Endpoints resource.Update
}

func (StrictDNS) isDiscovery() {}

// Equal reports whether o is a StrictDNS with the same endpoints.
func (s StrictDNS) Equal(o Discovery) bool {
	other, ok := o.(StrictDNS)
	return ok && convert.EqualUpdates(s.Endpoints, other.Endpoints)
}

// An HTTPVersion is a version that connections of a cluster use.
type HTTPVersion uint8

// The versions.
const (
	HTTPUnset HTTPVersion = iota // the cluster does not configure one
	HTTPAuto                     // negotiated with TLS
	HTTP1
	HTTP2
)

// HTTPSettings are the fields of a cluster that only profile HTTP reads. They are comparable.
type HTTPSettings struct {
	// ConnectTimeout is the limit of an attempt to connect. Default 5 s.
	ConnectTimeout time.Duration
	// Version is that of the HttpProtocolOptions.
	Version HTTPVersion
	// Limits are limits beside Update.MaxRequests.
	Limits HTTPLimits
	// Outlier has the settings of outlier detection beside Update.OutlierDetection. It is zero if that is nil.
	Outlier HTTPOutlier
}

// HTTPLimits are the circuit breakers of HTTP clients.
type HTTPLimits struct {
	// Connections is the limit of connections to all endpoints. Each endpoint may have one above it. Default 1024.
	Connections uint32
	// Pending is the limit of requests that wait for a connection. Default 1024.
	Pending uint32
	// Retries is the limit of concurrent retries, without a budget. Default 3.
	Retries uint32
	// Budget is the limit of concurrent retries in percent of the requests in flight, but at least BudgetMin. HasBudget
	// says whether there is a budget. Defaults 20 and 3.
	Budget    float64
	BudgetMin uint32
	HasBudget bool
	// PerConnection is the limit of requests on one connection. 0: none.
	PerConnection uint32
}

// HTTPOutlier configures the detection of endpoints by consecutive failures. The chances are in percent. 0 disables a method.
type HTTPOutlier struct {
	// FiveXX is the number of consecutive responses with a status from 500, and FiveXXChance the chance of an ejection.
	// Defaults 5 and 100.
	FiveXX, FiveXXChance uint32
	// Gateway and GatewayChance are the same for the statuses 502, 503 and 504. Defaults 5 and 0.
	Gateway, GatewayChance uint32
	// Split says that failures without a response count separately. Without it, they count as status 503 or 504.
	Split bool
	// Local and LocalChance are for failures without a response, if Split. Defaults 5 and 100.
	Local, LocalChance uint32
	// LocalSuccessRate and LocalFailurePercentage are the chances of ejections by the success rate and the failure
	// percentage of failures without a response, if Split. Defaults 100 and 0.
	LocalSuccessRate, LocalFailurePercentage uint32
}

// defaultConnectTimeout is Envoy's.
const defaultConnectTimeout = 5 * time.Second

// noHTTPSettings is the hook of Update.HTTP. finishHTTP sets the field in profile HTTP.
func noHTTPSettings(*resource.DecodeContext, resource.LBConfig) (*HTTPSettings, error) {
	return nil, nil //nolint:nilnil // only profile HTTP has them
}

// finishHTTP reads the fields of profile HTTP from the whole message. Other profiles do not pay for them.
func finishHTTP(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	if dc.Types.Profile() != resource.HTTP {
		return
	}
	m := new(clusterv3.Cluster)
	if err := dc.Unmarshal(u.Raw(), m); err != nil {
		v.AddError(resource.Path{}, err)
		return
	}
	var p resource.Path
	v.AddMessage(p, m)
	u.HTTP = &HTTPSettings{ConnectTimeout: defaultConnectTimeout, Version: httpVersion(p, m, v)}
	if t := m.GetConnectTimeout(); t != nil {
		if u.HTTP.ConnectTimeout = convert.Duration(p.Field("connect_timeout"), t, v); u.HTTP.ConnectTimeout <= 0 {
			v.Add(p.Field("connect_timeout"), u.HTTP.ConnectTimeout, "must be above 0s")
		}
	}
	rejectUnread(&p, u, m, v)
	u.HTTP.Limits = httpLimits(&p, m, v)
	if o := m.GetOutlierDetection(); o != nil {
		u.HTTP.Outlier = httpOutlier(o)
	}
	if m.GetClusterType() != nil {
		return
	}
	switch m.GetType() {
	case clusterv3.Cluster_STATIC:
		u.Discovery = Static{assignment(dc, u, m.GetLoadAssignment(), v)}
	case clusterv3.Cluster_STRICT_DNS:
		u.Discovery = StrictDNS{assignment(dc, u, m.GetLoadAssignment(), v)}
	case clusterv3.Cluster_ORIGINAL_DST:
		v.Add(p.Field("type"), m.GetType(), "must be one of STATIC, STRICT_DNS, LOGICAL_DNS, EDS")
	default:
	}
}

// assignment decodes the endpoints in the cluster.
func assignment(dc *resource.DecodeContext, u *Update, m *endpointv3.ClusterLoadAssignment, v *resource.Violations) resource.Update {
	p := (*resource.Path)(nil).Field("load_assignment")
	if m == nil {
		v.Add(p, nil, "must be set")
		return nil
	}
	body, err := proto.Marshal(m)
	if err != nil {
		v.AddError(p, err)
		return nil
	}
	return dc.Inline(&u.meta, v, p, "envoy.config.endpoint.v3.ClusterLoadAssignment", body)
}

// protocolOptions is the message of a cluster's HTTP versions. It is read by field numbers, so that programs need not link it.
const protocolOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

func httpVersion(p resource.Path, m *clusterv3.Cluster, v *resource.Violations) HTTPVersion {
	a, ok := m.GetTypedExtensionProtocolOptions()[protocolOptions]
	if !ok {
		return HTTPUnset
	}
	explicit, downstream, auto := wire.Field(a.GetValue(), 3), wire.Field(a.GetValue(), 4), wire.Field(a.GetValue(), 5)
	switch {
	case auto != nil:
		return HTTPAuto
	case downstream != nil:
		return HTTPUnset
	case wire.Field(explicit, 1) != nil:
		return HTTP1
	case wire.Field(explicit, 2) != nil:
		return HTTP2
	default:
		v.Add(p.Field("typed_extension_protocol_options["+protocolOptions+"]"), nil, "must choose HTTP/1 or HTTP/2")
		return HTTPUnset
	}
}
