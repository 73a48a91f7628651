package main

import (
	"encoding/json"
	"errors"
	"net/netip"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// fragmentRow is a row of lb_policy, tls_context and http_filter_config: a part of a
// resource.
type fragmentRow struct {
	resourceRow
	ServiceConfig string `json:"want_service_config"`
	ServerSide    bool   `json:"server_side"`
	Filter        string
}

// judgePolicy runs a load_balancing_policy, and compares the service config that
// comes of it.
func judgePolicy(v *verdict, row fragmentRow) error {
	dc, err := row.context()
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(row.Body, new(clusterv3.LoadBalancingPolicy)); err != nil {
		return err
	}
	config, err := dc.LBPolicy(row.Body)
	if !v.compareOK(row.WantOK, err) {
		return nil
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	var theirs, ours any
	if err := json.Unmarshal([]byte(row.ServiceConfig), &theirs); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &ours); err != nil {
		return err
	}
	v.compare("service config", theirs, ours)
	return nil
}

// judgeTLS runs a CommonTlsContext within the transport socket of a cluster or a
// filter chain.
func judgeTLS(v *verdict, row fragmentRow) error {
	dc, err := row.context()
	if err != nil {
		return err
	}
	common := new(tlsv3.CommonTlsContext)
	if err := proto.Unmarshal(row.Body, common); err != nil {
		return err
	}
	var m proto.Message = &tlsv3.UpstreamTlsContext{CommonTlsContext: common}
	if row.ServerSide {
		m = &tlsv3.DownstreamTlsContext{CommonTlsContext: common}
	}
	config, err := anypb.New(m)
	if err != nil {
		return err
	}
	socket, err := proto.Marshal(&corev3.TransportSocket{ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: config}})
	if err != nil {
		return err
	}
	if row.ServerSide {
		_, err = tlscontext.ForServer(dc, socket)
	} else {
		_, err = tlscontext.ForClient(dc, socket)
	}
	v.compareOK(row.WantOK, err)
	return nil
}

// lookupRow is a row of filter_chain_lookup: a listener and a connection.
type lookupRow struct {
	resourceRow
	Lookup struct {
		Destination string `json:"dst_addr"`
		Source      string `json:"src_addr"`
		SourcePort  uint16 `json:"src_port"`
	}
}

// judgeLookup finds the filter chain for a connection, and compares the identity that
// it shows.
func judgeLookup(v *verdict, row lookupRow) error {
	u, err := row.decode()
	if !v.compareOK(true, err) {
		return nil
	}
	destination, _ := netip.ParseAddr(row.Lookup.Destination)
	source, _ := netip.ParseAddr(row.Lookup.Source) // some are none
	conn := listener.Conn{Local: netip.AddrPortFrom(destination, 0), Remote: netip.AddrPortFrom(source, row.Lookup.SourcePort)}
	chain := u.(*listener.Update).FilterChain(conn)
	err = nil
	if chain == nil {
		err = errors.New("no chain")
	}
	if !v.compareOK(row.WantOK, err) {
		return nil
	}
	identity := ""
	if chain.TLS != nil {
		identity = chain.TLS.Identity.Provider
	}
	v.compare("identity", row.WantName, identity)
	return nil
}

// judgeFilter runs the configuration of an HTTP filter.
func judgeFilter(v *verdict, row fragmentRow) error {
	switch row.Filter {
	case "extauthz", "extproc":
		v.notAsked = "the gRFC of " + row.Filter + " is a draft"
		return nil
	}
	if row.Body == nil {
		v.notAsked = "a peer's API was called with a configuration of another type"
		return nil
	}
	dc, err := row.context()
	if err != nil {
		return err
	}
	c, err := resource.OpenTypedConfig(&anypb.Any{TypeUrl: row.TypeURL, Value: row.Body})
	if err != nil {
		return err
	}
	filter, ok := dc.Types.HTTPFilter(c.Message)
	if !ok {
		v.differences = append(v.differences, "no filter "+row.Filter)
		return nil
	}
	_, err = filter.Parse(dc, c)
	v.compareOK(row.WantOK, err)
	return nil
}
