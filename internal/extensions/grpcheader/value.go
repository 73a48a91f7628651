package grpcheader

import (
	"encoding/base64"
	"strings"
)

// Value returns the value of a header of a gRPC call as matchers see it, and whether it is present (A41). Names are in lower
// case. Several values are joined by commas. Binary values are in base64. "host" means ":authority". Hop-by-hop headers are
// never present.
func Value(method string, md map[string][]string, name string) (value string, there bool) {
	switch name {
	case ":method":
		return "POST", true // gRPC accepts no other method
	case ":path":
		return method, true
	case "host":
		name = ":authority"
	case "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade":
		return "", false // a hop-by-hop header (RFC 7230 section 6.1)
	}
	values := md[name]
	if binary(name) {
		values = encoded(values)
	}
	switch len(values) {
	case 0:
		return "", false
	case 1:
		return values[0], true
	default:
		return strings.Join(values, ","), true
	}
}

// encoded returns binary values in base64, as they are on the wire.
func encoded(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = base64.RawStdEncoding.EncodeToString([]byte(v))
	}
	return out
}
