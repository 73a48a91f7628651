package xdsctl

import (
	"strings"

	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// aliases are short names of resource types.
func aliases() map[string]string {
	return map[string]string{
		"lds": listener.Type().Name(), "listener": listener.Type().Name(),
		"rds": route.Type().Name(), "route": route.Type().Name(), "routeconfiguration": route.Type().Name(),
		"cds": cluster.Type().Name(), "cluster": cluster.Type().Name(),
		"eds": endpoint.Type().Name(), "endpoint": endpoint.Type().Name(), "endpoints": endpoint.Type().Name(),
		"clusterloadassignment": endpoint.Type().Name(),
		"sds":                   "envoy.extensions.transport_sockets.tls.v3.Secret",
		"secret":                "envoy.extensions.transport_sockets.tls.v3.Secret",
	}
}

// fullName returns the full name of a message by an alias, a type URL or a full name.
func fullName(s string) string {
	if name, ok := aliases()[strings.ToLower(s)]; ok {
		return name
	}
	return s[strings.LastIndexByte(s, '/')+1:]
}

// short returns the last part of a message's name.
func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
