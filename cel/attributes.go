package cel

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// The types of the variables.
const (
	requestType    = "xdsforge.Request"
	sourceType     = "xdsforge.Source"
	connectionType = "xdsforge.Connection"
	xdsType        = "xdsforge.XDS"
	clusterType    = "xdsforge.ClusterMetadata"
)

// variables are the variables of a call. It implements cel.Activation.
type variables struct{ call *matchtree.Call }

// ResolveName implements cel.Activation. Every variable is the call; its type selects the attributes.
func (v variables) ResolveName(name string) (any, bool) {
	switch name {
	case "request", "source", "connection", "xds":
		return v.call, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (variables) Parent() cel.Activation { return nil }

// An attribute is a field of a variable. get returns false if the call does not have it.
type attribute struct {
	kind *types.Type
	get  func(c *matchtree.Call) (any, bool)
}

func text(get func(c *matchtree.Call) (string, bool)) attribute {
	return attribute{types.StringType, func(c *matchtree.Call) (any, bool) { return get(c) }}
}

// header returns the attribute for a header.
func header(name string) attribute {
	return text(func(c *matchtree.Call) (string, bool) { return c.Header(name) })
}

// urlPath returns the path without the query. That of a gRPC call is its method.
func urlPath(c *matchtree.Call) (string, bool) { return c.Path(), true }

// query returns the query of an HTTP request. gRPC calls have none.
func query(c *matchtree.Call) (string, bool) {
	if c.Request == nil {
		return "", true
	}
	return c.Request.URL.RawQuery, true
}

// missing is an attribute of Envoy that no call has (A106).
func missing(kind *types.Type) attribute {
	return attribute{kind, func(*matchtree.Call) (any, bool) { return nil, false }}
}

// attributes returns the attributes of a type.
func attributes(name string) map[string]attribute {
	switch name {
	case requestType:
		return map[string]attribute{
			"path":      header(":path"),
			"url_path":  text(urlPath),
			"host":      header(":authority"),
			"scheme":    header(":scheme"), // missing in gRPC calls (A106)
			"method":    header(":method"),
			"headers":   {types.NewMapType(types.StringType, types.StringType), func(c *matchtree.Call) (any, bool) { return headers{c}, true }},
			"referer":   header("referer"),
			"useragent": header("user-agent"),
			"time":      missing(types.TimestampType),
			"id":        header("x-request-id"),
			"protocol":  missing(types.StringType),
			"query":     text(query),
		}
	case sourceType:
		return map[string]attribute{
			"address": text(sourceAddress),
			"port":    {types.IntType, sourcePort},
		}
	case connectionType:
		return map[string]attribute{
			"requested_server_name":          text(serverName),
			"tls_version":                    text(tlsVersion),
			"sha256_peer_certificate_digest": text(digest),
		}
	case xdsType:
		return map[string]attribute{"cluster_metadata": {types.NewObjectType(clusterType), func(c *matchtree.Call) (any, bool) { return c, true }}}
	case clusterType:
		return map[string]attribute{"filter_metadata": {
			types.NewMapType(types.StringType, types.NewMapType(types.StringType, types.DynType)),
			func(c *matchtree.Call) (any, bool) { return metadata{c}, true },
		}}
	}
	return nil
}

func sourceAddress(c *matchtree.Call) (string, bool) {
	remote, _ := peer(c)
	return remote.String(), remote.IsValid()
}

func sourcePort(c *matchtree.Call) (any, bool) {
	remote, _ := peer(c)
	return int64(remote.Port()), remote.IsValid()
}

func serverName(c *matchtree.Call) (string, bool) {
	_, state := peer(c)
	if state == nil || state.ServerName == "" {
		return "", false
	}
	return state.ServerName, true
}

// tlsVersion returns the version as Envoy writes it: "TLSv1.3".
func tlsVersion(c *matchtree.Call) (string, bool) {
	_, state := peer(c)
	if state == nil {
		return "", false
	}
	switch state.Version {
	case tls.VersionTLS12:
		return "TLSv1.2", true
	case tls.VersionTLS13:
		return "TLSv1.3", true
	}
	return "", false
}

// digest returns the SHA-256 digest of the client's certificate, in hexadecimal digits.
func digest(c *matchtree.Call) (string, bool) {
	_, state := peer(c)
	if state == nil || len(state.PeerCertificates) == 0 {
		return "", false
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:]), true
}

// peer returns the address of the client and the state of its connection, on servers.
func peer(c *matchtree.Call) (remote netip.AddrPort, state *tls.ConnectionState) {
	if c.Attributes == nil {
		return remote, nil
	}
	addr, state := c.Attributes.Peer()
	if a, ok := addr.(interface{ AddrPort() netip.AddrPort }); ok {
		ap := a.AddrPort()
		remote = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return remote, state
}

// A provider knows the types of the variables.
type provider struct{ types.Provider }

// FindStructType implements [types.Provider].
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if attributes(name) == nil {
		return nil, false // A106 has no messages
	}
	return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
}

// FindStructFieldNames implements [types.Provider].
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	all := attributes(name)
	names := make([]string, 0, len(all))
	for field := range all {
		names = append(names, field)
	}
	slices.Sort(names)
	return names, all != nil
}

var errMissing = errors.New("cel: the call does not have the attribute")

// FindStructFieldType implements [types.Provider].
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	a, ok := attributes(name)[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type: a.kind,
		IsSet: func(target any) bool {
			c, ok := target.(*matchtree.Call)
			if ok {
				_, ok = a.get(c)
			}
			return ok
		},
		GetFrom: func(target any) (any, error) {
			if c, ok := target.(*matchtree.Call); ok {
				if v, there := a.get(c); there {
					return v, nil
				}
			}
			return nil, errMissing
		},
	}, true
}
