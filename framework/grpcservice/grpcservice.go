package grpcservice

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
)

// The limits of a service.
const (
	maxTarget   = 8192 // bytes
	maxMetadata = 100  // entries of initial_metadata
	maxPlugins  = 100  // entries of a list of credentials
)

// A Service is a valid GrpcService. It is immutable.
type Service struct {
	// Server has the target, and credentials in the form of the bootstrap.
	Server *bootstrap.Server
	// TLS, unless nil, has the certificate provider instances of TLS credentials. They replace the channel credentials
	// of Server, which are not used.
	TLS *tlscontext.Client
	// Managed reports that control planes configure the security of a channel to a target with the scheme xds. The other
	// credentials are the fallback.
	Managed bool
	// Timeout is the time limit of a call. Zero means that only the context limits it.
	Timeout time.Duration

	token    string
	metadata []grpcheader.Header
}

// Token returns the access token of calls, or "". Only a connection with privacy and integrity may send it.
func (s *Service) Token() string { return s.token }

// EachHeader calls f for each header that calls must have.
func (s *Service) EachHeader(f func(name, value string)) {
	for _, h := range s.metadata {
		f(h.Name, h.Value)
	}
}

// String returns the target.
func (s *Service) String() string { return s.Server.URI() }

// MarshalJSON returns the target and the timeout, without credentials.
func (s *Service) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "{\"target\":%q,\"timeout\":%q}", s.Server.URI(), s.Timeout), nil
}

// Read reads a service, which must be set. The result is unusable if Read adds a violation. The context decides by its
// Server and Bootstrap which services are allowed. known reports whether targets with a scheme can be resolved. Nil
// accepts every scheme.
func Read(dc *resource.DecodeContext, p resource.Path, m *corev3.GrpcService, known func(scheme string) bool, v *resource.Violations) *Service {
	out := new(Service)
	google, q := m.GetGoogleGrpc(), p.Field("google_grpc")
	if google == nil {
		v.Add(q, nil, "must be set (A102)")
		return out
	}
	if rule := checkTarget(google.GetTargetUri(), known); rule != "" {
		v.Add(q.Field("target_uri"), google.GetTargetUri(), rule)
	} else {
		out.readCredentials(dc, q, google, v)
	}
	if d := m.GetTimeout(); d != nil {
		if out.Timeout = convert.Duration(p.Field("timeout"), d, v); out.Timeout <= 0 {
			v.Add(p.Field("timeout"), out.Timeout, "must be a duration above 0s (A102)")
		}
	}
	out.readMetadata(p, m.GetInitialMetadata(), v)
	return out
}

// checkTarget returns the rule that a target breaks, or "". As in gRPC, a target without a known scheme is a name of DNS.
func checkTarget(target string, known func(scheme string) bool) string {
	if target == "" || len(target) > maxTarget {
		return fmt.Sprintf("must be a gRPC target of 1 to %d bytes (A102)", maxTarget)
	}
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Scheme == "":
		u, err = url.Parse("dns:///" + target)
	case known != nil && !known(u.Scheme):
		if strings.HasPrefix(target[len(u.Scheme):], ":/") {
			return "must have a scheme with a resolver (A102)"
		}
		u, err = url.Parse("dns:///" + target)
	}
	if err != nil || strings.Trim(u.Path+u.Opaque, "/") == "" {
		return "must be a gRPC target with a name (A102)"
	}
	return ""
}

func (s *Service) readMetadata(p resource.Path, list []*corev3.HeaderValue, v *resource.Violations) {
	if len(list) > maxMetadata {
		v.Add(p.Field("initial_metadata"), len(list), fmt.Sprintf("must have at most %d entries", maxMetadata))
		return
	}
	for i, m := range list {
		h, err := grpcheader.Read(m)
		if e, ok := err.(*grpcheader.Error); ok { //nolint:errorlint // Read returns no other
			item := p.Item("initial_metadata", i)
			v.Add(item.Field(e.Path), e.Value, e.Rule)
			continue
		}
		s.metadata = append(s.metadata, h)
	}
}
