// Package sourced lets a server entry of the bootstrap name a [source.Source] instead of a control
// plane. [Transport] recognizes the scheme of the entry's URI:
//
//	schemes := []sourced.Scheme{sourced.Files(files.Options{Types: types}), sourced.Memory(map[string]*source.Memory{"rules": m})}
//	c, err := xdsforge.New(xdsforge.WithTransport(sourced.Transport(grpctransport.New(), schemes...)), …)
//
// with a bootstrap such as
//
//	{"xds_servers": [{"server_uri": "memory:rules"}]}
//
// The client speaks the delta protocol to the Source in the same process. Federation (gRFC A47),
// fallback (A71), errors, NACKs, CSDS and metrics work as with any control plane. A Source that is
// down is a failure of the connection.
package sourced
