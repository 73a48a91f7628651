package endpoint

import (
	"net/netip"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// validateProfile checks the message's own rules in profile Envoy.
func validateProfile(_ *resource.DecodeContext, p resource.Path, m *endpointv3.ClusterLoadAssignment, v *resource.Violations) {
	v.AddMessage(p, m)
}

// checkPriorities checks, in profile gRPC, that the priorities of the localities are 0, 1,
// 2, … without a gap (gRFC A27). A priority that is not below the number of localities
// always implies a gap.
func checkPriorities(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	if dc.Types.Profile() != resource.GRPC {
		return
	}
	var few [64]bool // avoids an allocation for most resources
	seen := few[:]
	if n := len(u.Localities); n > len(seen) {
		seen = make([]bool, n)
	}
	var highest uint32
	for i := range u.Localities {
		p := u.Localities[i].Priority
		highest = max(highest, p)
		if int64(p) < int64(len(seen)) {
			seen[p] = true
		}
	}
	if int64(highest) >= int64(len(seen)) || slices.Contains(seen[:highest], false) {
		var p resource.Path
		v.Add(p.Field("endpoints.priority"), highest, "must not leave out a lower number (A27)")
	}
}

const collectionMessage = "envoy.config.endpoint.v3.LbEndpointCollection"

// collection returns the canonical name of the list collection with a locality's endpoints
// (A95).
func collection(dc *resource.DecodeContext, m *endpointv3.LedsClusterLocalityConfig) (string, error) {
	if m == nil {
		return "", nil
	}
	var v resource.Violations
	var root *resource.Path
	if m.GetLedsConfig().GetSelf() == nil && dc.Types.Profile() != resource.Envoy {
		v.Add(root.Field("leds_config"), nil, "must have self set (A95)")
	}
	at, s := root.Field("leds_collection_name"), m.GetLedsCollectionName()
	if strings.HasSuffix(s, "/*") && dc.Types.Profile() != resource.Envoy {
		v.Add(at, s, "must be a list collection, not a glob (A95)")
		return s, v.Err()
	}
	n, err := dc.ParseName(s)
	if err == nil && dc.Types.Profile() != resource.Envoy {
		err = n.CheckType(collectionMessage)
	}
	if err != nil {
		v.Add(at, s, "must name a "+collectionMessage+": "+err.Error())
	}
	return n.String(), v.Err()
}

// finishCollections drops the endpoints of localities that have a collection, and refers to the list (A95).
func finishCollections(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	for i := range u.Localities {
		l := &u.Localities[i]
		if l.Collection == "" {
			continue
		}
		l.Endpoints = nil
		if n, err := dc.ParseName(l.Collection); err == nil && n.CheckType(collectionMessage) == nil { // not a glob
			dc.Ref(&u.meta, v, (*resource.Path)(nil).Field("endpoints.leds_cluster_locality_config.leds_collection_name"), collectionMessage, &l.Collection)
		}
	}
}

// checkAddresses checks, in profile gRPC, that no address is in the resource twice (A27). Invalid
// addresses are empty.
func checkAddresses(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	if dc.Types.Profile() != resource.GRPC {
		return
	}
	var root *resource.Path
	var seen convert.Set[string]
	for i := range u.Localities {
		p := root.Item("endpoints", i)
		for j := range u.Localities[i].Endpoints {
			e := &u.Localities[i].Endpoints[j]
			q := p.Item("lb_endpoints", j)
			if e.address != "" && seen.Before(e.address) {
				v.Add(q.Item("Addresses", 0), e.address, notUnique)
			}
			if e.Details == nil {
				continue
			}
			for k, address := range e.Details.AdditionalAddresses {
				if address != "" && seen.Before(address) {
					v.Add(q.Item("Addresses", k+1), address, notUnique)
				}
			}
		}
	}
}

const notUnique = "must be unique in the resource (A27)"

// finishAddresses removes the empty strings that represent other kinds of addresses in
// profile Envoy.
func finishAddresses(dc *resource.DecodeContext, u *Update, _ *resource.Violations) {
	if dc.Types.Profile() == resource.GRPC {
		return
	}
	for i := range u.Localities {
		for j := range u.Localities[i].Endpoints {
			u.Localities[i].Endpoints[j].compact()
		}
	}
}

// compact removes empty addresses.
func (e *Endpoint) compact() {
	d := e.Details
	if d == nil {
		return
	}
	d.AdditionalAddresses = slices.DeleteFunc(d.AdditionalAddresses, func(a string) bool { return a == "" })
	if e.address == "" && len(d.AdditionalAddresses) > 0 {
		e.address, d.AdditionalAddresses = d.AdditionalAddresses[0], d.AdditionalAddresses[1:]
	}
	if !d.isSet() {
		e.Details = nil
	}
}

// metadata decodes the metadata of a locality or an endpoint (A86).
func metadata(dc *resource.DecodeContext, m *corev3.Metadata) (map[string]resource.Metadatum, error) {
	return dc.Metadata(m)
}

// HashKey returns the key that places the endpoint in a hash ring (A76). If it is empty,
// the address is the key.
func (e *Endpoint) HashKey() string {
	fields, _ := e.Metadata()["envoy.lb"].Value.(map[string]any)
	key, _ := fields["hash_key"].(string)
	return key
}

// proxyKey is the metadata key of the proxy address (A86).
const proxyKey = "envoy.http11_proxy_transport_socket.proxy_address"

// Proxy returns the address of the HTTP proxy for an endpoint of the locality (A86): the
// endpoint's, or else the locality's. It is invalid if there is none. Use it only if the
// cluster enables proxies.
func (l *Locality) Proxy(e *Endpoint) netip.AddrPort {
	if a, ok := e.Metadata()[proxyKey].Value.(netip.AddrPort); ok {
		return a
	}
	if l == nil {
		return netip.AddrPort{}
	}
	a, _ := l.Metadata[proxyKey].Value.(netip.AddrPort)
	return a
}
