// Package httpfilter is the interface of HTTP filters that run in servers and clients of package httpxds. On a server, a
// filter is middleware of net/http. On a client, it wraps an [http.RoundTripper]. A filter has two lifetimes. Its instance
// belongs to an entry of a Listener's list of filters, and survives updates. Its interceptors belong to one configuration.
//
// Register a filter with xdsforge.WithTypes:
//
//	xdsforge.WithTypes(httpxds.Register, func(r xdsforge.Registrar) { r.Extend(&httpfilter.Filter{…}) })
package httpfilter
