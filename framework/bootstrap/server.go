package bootstrap

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// Server is one server entry: gRFC A47's XdsServer. It is immutable.
type Server struct {
	uri          string
	channelCreds Creds
	callCreds    []Creds
	features     []string // known ones, sorted
	key          string
}

// ParseServer reads one server entry in the form of bootstrap files and of LB policy configurations
// (gRFC A47). The error has all problems, each an [*Error].
func ParseServer(data []byte, opts ...Option) (*Server, error) {
	var p problems
	return oneServer(&p, decodeServer(document(&p, data)), newOptions(opts))
}

// ParseServer is [ParseServer] with the options that the bootstrap was read with, such as
// [WithChannelCreds]. A copy of an entry of the bootstrap is thus the same server (gRFC A47).
func (c *Config) ParseServer(data []byte) (*Server, error) {
	var p problems
	return oneServer(&p, decodeServer(document(&p, data)), c.options)
}

// NewServer returns the server entry of spec. It validates as strictly as [ParseServer].
func NewServer(spec ServerSpec, opts ...Option) (*Server, error) {
	return oneServer(new(problems), spec, newOptions(opts))
}

func oneServer(p *problems, spec ServerSpec, o options) (*Server, error) {
	s := buildServer(p, "", spec, o)
	if err := p.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// URI returns the gRPC target of the server as configured. It is empty for a nil server.
func (s *Server) URI() string {
	if s == nil {
		return ""
	}
	return s.uri
}

// ChannelCreds returns the channel credentials to use: the first in the entry whose type the
// program supports (gRFC A27).
func (s *Server) ChannelCreds() Creds { return s.channelCreds }

// CallCreds returns all call credentials in the entry whose types the program supports (gRFC A97).
func (s *Server) CallCreds() []Creds { return slices.Clone(s.callCreds) }

// Features returns the known features of the server, sorted. For a feature with two spellings, it
// returns the first.
func (s *Server) Features() []string { return slices.Clone(s.features) }

// HasFeature reports whether the server has a known feature, in any spelling.
func (s *Server) HasFeature(name string) bool {
	canonical, known := featureName(name)
	return known && slices.Contains(s.features, canonical)
}

// Key identifies the server: two entries have the same key if and only if they may share one
// channel. It covers the target, the selected channel credentials and the call credentials with
// their configurations, and the known features (gRFC A47, and A97 for call credentials). Targets
// that gRPC must treat alike have the same key, such as "dns:///xds.example.com:443" and
// "xds.example.com:443". Configurations are compared as JSON values, and the order of their members
// does not matter. The key is a digest: it reveals no configuration.
func (s *Server) Key() string { return s.key }

// Equal reports whether both servers have the same key.
func (s *Server) Equal(other *Server) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.key == other.key
}

// MarshalJSON returns the server's URI and features, without credentials.
func (s *Server) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		URI      string   `json:"uri"`
		Features []string `json:"features,omitempty"`
	}{s.uri, s.features})
}

// String returns a description for people, without the configurations of the credentials:
// "xds.example.com:443 (tls, jwt_token_file; xds_v3)".
func (s *Server) String() string {
	if s == nil {
		return "<nil>"
	}
	creds := make([]string, 0, 1+len(s.callCreds))
	if s.channelCreds.typ != "" {
		creds = append(creds, s.channelCreds.typ)
	}
	for _, c := range s.callCreds {
		creds = append(creds, c.typ)
	}
	about := strings.Join(creds, ", ")
	if len(s.features) > 0 {
		about += "; " + strings.Join(s.features, ", ")
	}
	if about == "" {
		return s.uri
	}
	return s.uri + " (" + about + ")"
}

// featureName returns the canonical spelling of a known feature.
func featureName(name string) (canonical string, known bool) {
	switch name {
	case feature.XDSV3, feature.IgnoreResourceDeletion, feature.TrustedXDSServer,
		feature.FailOnDataErrors, feature.ResourceTimerIsTransientError,
		feature.TransportDelta, feature.TransportAuto:
		return name, true
	case feature.ResourceTimerIsTransientFailure:
		return feature.ResourceTimerIsTransientError, true
	}
	return "", false
}

// knownFeatures returns the known features of a list, sorted, each once. Other
// entries are ignored, whatever their type (gRFC A30).
func knownFeatures(list []any) []string {
	var known []string
	for _, entry := range list {
		if name, ok := entry.(string); ok {
			if name, ok = featureName(name); ok {
				known = append(known, name)
			}
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}
