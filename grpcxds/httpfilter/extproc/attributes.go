package extproc

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

// namespace is the key of the attributes (A93).
const namespace = "envoy.filters.http.ext_proc"

// facts describe a call for attributes (A106, A103).
type facts struct {
	method    string
	authority string // empty on channels: gRPC chooses it below the filters
	headers   metadata.MD

	remote net.Addr             // of the client; nil on channels
	tls    *tls.ConnectionState // of the client's connection; nil: none
}

// serverFacts describes a call that a server receives.
func serverFacts(call *httpfilter.ServerCall, md metadata.MD) *facts {
	f := &facts{method: call.Method, headers: md, authority: strings.Join(md[":authority"], ","), remote: call.Remote}
	if info, ok := call.AuthInfo.(credentials.TLSInfo); ok {
		f.tls = &info.State
	}
	return f
}

// attributes returns the attributes with these names. Unknown names have no effect (A93).
func (f *facts) attributes(names []string) map[string]*structpb.Struct {
	fields := make(map[string]*structpb.Value, len(names))
	for _, name := range names {
		if v := f.value(name); v != nil {
			fields[name] = v
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return map[string]*structpb.Struct{namespace: {Fields: fields}}
}

// value returns the value of an attribute, or nil.
func (f *facts) value(name string) *structpb.Value {
	switch name {
	case "request.path", "request.url_path":
		return text(f.method)
	case "request.host":
		if f.authority != "" {
			return text(f.authority)
		}
	case "request.method":
		return text("POST")
	case "request.query":
		return text("")
	case "request.headers":
		all := make(map[string]*structpb.Value, len(f.headers))
		for name, values := range f.headers {
			if !strings.HasSuffix(name, "-bin") {
				all[name] = text(strings.Join(values, ","))
			}
		}
		return structpb.NewStructValue(&structpb.Struct{Fields: all})
	case "request.referer":
		return f.header("referer")
	case "request.useragent":
		return f.header("user-agent")
	case "request.id":
		return f.header("x-request-id")
	}
	return f.connection(name)
}

// connection returns the value of an attribute of the connection, or nil. Servers have them (A103).
func (f *facts) connection(name string) *structpb.Value {
	switch name {
	case "source.address":
		if f.remote != nil {
			return text(f.remote.String())
		}
	case "source.port":
		if tcp, ok := f.remote.(*net.TCPAddr); ok {
			return structpb.NewNumberValue(float64(tcp.Port))
		}
	}
	if f.tls == nil {
		return nil
	}
	switch name {
	case "connection.requested_server_name":
		return text(f.tls.ServerName)
	case "connection.tls_version":
		return text(strings.ReplaceAll(tls.VersionName(f.tls.Version), "TLS ", "TLSv"))
	case "connection.sha256_peer_certificate_digest":
		if len(f.tls.PeerCertificates) > 0 {
			return text(fmt.Sprintf("%x", sha256.Sum256(f.tls.PeerCertificates[0].Raw)))
		}
	}
	return nil
}

// header returns the value of a header, or nil.
func (f *facts) header(name string) *structpb.Value {
	values := f.headers[name]
	if len(slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })) == 0 {
		return nil
	}
	return text(strings.Join(values, ","))
}

// text returns a value that is valid UTF-8, as messages must have it.
func text(s string) *structpb.Value {
	return structpb.NewStringValue(strings.ToValidUTF8(s, "\uFFFD"))
}
