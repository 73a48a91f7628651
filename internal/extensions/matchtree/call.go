package matchtree

import (
	"cmp"
	"crypto/tls"
	"iter"
	"maps"
	"net"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
)

// A Call has the properties of a gRPC call or of an HTTP request that inputs read.
type Call struct {
	// Method is the full name of the method, "/package.Service/Method".
	Method string
	// Metadata has the headers of a gRPC call. Names are in lower case.
	Metadata map[string][]string
	// Request is an HTTP request, which has neither Method nor Metadata. It is nil for gRPC calls.
	Request *Request
	// Attributes has further properties, unless it is nil.
	Attributes Attributes
}

// A Request has the properties of an HTTP request. Resource types, which import this package, must not import net/http.
type Request struct {
	Method string // GET if empty
	URL    *url.URL
	Host   string              // if not empty, it replaces that of the URL
	Header map[string][]string // as http.Header
	TLS    bool                // whether the client has sent it by https
	// Received reports that a server has received the request. The client could write any scheme into the URL then, and the path
	// is the one that the handler serves.
	Received bool
}

// Attributes are properties of a call that few expressions read (A103).
type Attributes interface {
	// Peer returns the address of the client and the state of its TLS connection. Both are nil on channels, and the state is
	// nil without TLS.
	Peer() (net.Addr, *tls.ConnectionState)
	// ClusterMetadata returns an entry in the metadata of the call's cluster that is of the type google.protobuf.Struct (A83).
	// It returns false if there is no such entry, and on servers.
	ClusterMetadata(key string) (map[string]any, bool)
}

// Header returns the value of a header, as gRPC's or Envoy's matchers see it, and whether it is present. The name is in lower
// case.
func (c *Call) Header(name string) (value string, there bool) { return c.header(name, "") }

// header is Header for a name that is also given as http.Header has it. An empty one costs an HTTP request an allocation.
func (c *Call) header(name, canonical string) (value string, there bool) {
	if c.Request == nil {
		return grpcheader.Value(c.Method, c.Metadata, name)
	}
	switch name {
	case ":method":
		return c.Request.method(), true
	case ":path":
		return c.Request.target(), true
	case ":authority", "host":
		host := c.Request.host()
		return host, host != ""
	case ":scheme":
		return c.Request.scheme(), true
	}
	if canonical == "" {
		canonical = textproto.CanonicalMIMEHeaderKey(name)
	}
	values := c.Request.Header[canonical]
	return strings.Join(values, ","), len(values) > 0
}

// Names yields the names of the headers, in lower case and without those that start with a colon.
func (c *Call) Names() iter.Seq[string] {
	if c.Request == nil {
		return maps.Keys(c.Metadata)
	}
	return func(yield func(string) bool) {
		for name := range c.Request.Header {
			if !yield(strings.ToLower(name)) {
				return
			}
		}
	}
}

// Path returns the path without the query. That of a gRPC call is its method. That of a request is as routes match it: without
// escapes if a server has received it, otherwise as it is sent.
func (c *Call) Path() string {
	switch {
	case c.Request == nil:
		return c.Method
	case c.Request.Received:
		return c.Request.URL.Path
	}
	path, _, _ := strings.Cut(c.Request.URL.RequestURI(), "?")
	return path
}

// target returns the path and the query.
func (r *Request) target() string {
	switch {
	case !r.Received:
		return r.URL.RequestURI()
	case r.URL.RawQuery != "":
		return r.URL.Path + "?" + r.URL.RawQuery
	default:
		return r.URL.Path
	}
}

func (r *Request) method() string { return cmp.Or(r.Method, "GET") }

func (r *Request) host() string { return cmp.Or(r.Host, r.URL.Host) }

// scheme returns the scheme, as routes match it. A reverse proxy's requests keep the TLS state of the requests that it has received.
// The scheme xds of clients is http to others.
func (r *Request) scheme() string {
	if r.TLS || !r.Received && r.URL.Scheme == "https" {
		return "https"
	}
	return "http"
}
