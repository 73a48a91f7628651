package bootstrap

import (
	"encoding/json"
	"slices"
	"strings"
)

// Server is one server entry: gRFC A47's XdsServer. It is immutable.
type Server struct {
	uri          string
	channelCreds Creds
	callCreds    []Creds
	features     []string // known ones, sorted
	key          string
}

// ParseServer reads one server entry in the form that it has in a bootstrap file
// and in the configurations of LB policies (gRFC A47). The error has all problems,
// each an [*Error].
func ParseServer(data []byte, opts ...Option) (*Server, error) {
	var p problems
	return oneServer(&p, decodeServer(document(&p, data)), newOptions(opts))
}

// ParseServer is [ParseServer] with the options that the bootstrap was read with, such as
// [WithChannelCreds]: an entry of the bootstrap that stands elsewhere, too, is the same
// server (gRFC A47).
func (c *Config) ParseServer(data []byte) (*Server, error) {
	var p problems
	return oneServer(&p, decodeServer(document(&p, data)), c.options)
}

// NewServer makes a server entry of plain values, as strictly as [ParseServer].
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

// URI returns the gRPC target of the server, as it was given. Empty for a nil server.
func (s *Server) URI() string {
	if s == nil {
		return ""
	}
	return s.uri
}

// ChannelCreds returns the channel credentials to use: the first in the entry
// whose type the program supports (gRFC A27).
func (s *Server) ChannelCreds() Creds { return s.channelCreds }

// CallCreds returns the call credentials to use, all of them: those in the entry
// whose types the program supports (gRFC A97).
func (s *Server) CallCreds() []Creds { return slices.Clone(s.callCreds) }

// Features returns the known features of the server, sorted. A feature with two
// spellings is in the list with the first.
func (s *Server) Features() []string { return slices.Clone(s.features) }

// HasFeature reports whether the server has a known feature, in any spelling.
func (s *Server) HasFeature(name string) bool {
	canonical, known := featureName(name)
	return known && slices.Contains(s.features, canonical)
}

// Key identifies the server: two entries have the same key if and only if they may
// share one channel. It covers the target, the selected channel credentials and the
// call credentials with their configurations, and the known features (gRFC A47, and
// A97 for call credentials). Targets that gRPC must take for the same are the
// same, such as "dns:///xds.example.com:443" and "xds.example.com:443";
// configurations are compared as JSON values, with no regard to the order of their
// members. The key is a digest: it reveals no configuration.
func (s *Server) Key() string { return s.key }

// Equal reports whether both are the same server, which is when their keys are
// equal.
func (s *Server) Equal(other *Server) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.key == other.key
}

// MarshalJSON writes the server's URI and features. Credentials are left out.
func (s *Server) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		URI      string   `json:"uri"`
		Features []string `json:"features,omitempty"`
	}{s.uri, s.features})
}

// String describes the server for people, without the configurations of its
// credentials: "xds.example.com:443 (tls, jwt_token_file; xds_v3)".
func (s *Server) String() string {
	if s == nil {
		return "<nil>"
	}
	creds := make([]string, 0, 1+len(s.callCreds))
	creds = append(creds, s.channelCreds.typ)
	for _, c := range s.callCreds {
		creds = append(creds, c.typ)
	}
	about := strings.Join(creds, ", ")
	if len(s.features) > 0 {
		about += "; " + strings.Join(s.features, ", ")
	}
	return s.uri + " (" + about + ")"
}

// The server features that gRFCs define.
const (
	// FeatureXDSV3 says that the server speaks xDS v3 (gRFC A30). There is no other
	// version any more.
	FeatureXDSV3 = "xds_v3"
	// FeatureIgnoreResourceDeletion keeps resources that the server deletes (A53). A88
	// makes that the default and gives this feature no meaning.
	FeatureIgnoreResourceDeletion = "ignore_resource_deletion"
	// FeatureTrustedXDSServer lets the server configure what matters for security, such
	// as authority rewriting (A81).
	FeatureTrustedXDSServer = "trusted_xds_server"
	// FeatureFailOnDataErrors drops cached resources on data errors (A88).
	FeatureFailOnDataErrors = "fail_on_data_errors"
	// FeatureResourceTimerIsTransientError makes the resource timer 30 s long, and its
	// expiry a transient error (A88).
	FeatureResourceTimerIsTransientError = "resource_timer_is_transient_error"
	// FeatureResourceTimerIsTransientFailure is how A88 spells
	// FeatureResourceTimerIsTransientError in one place. The two are one feature.
	FeatureResourceTimerIsTransientFailure = "resource_timer_is_transient_failure"
	// FeatureTransportDelta says that the server speaks the incremental variant of
	// the xDS transport protocol. The name is this project's.
	FeatureTransportDelta = "xds.transport.delta"
	// FeatureTransportAuto tries the incremental variant, and falls back on the
	// state of the world where the server does not have it. The name is this
	// project's.
	FeatureTransportAuto = "xds.transport.auto"
)

// featureName returns the one spelling of a known feature.
func featureName(name string) (canonical string, known bool) {
	switch name {
	case FeatureXDSV3, FeatureIgnoreResourceDeletion, FeatureTrustedXDSServer,
		FeatureFailOnDataErrors, FeatureResourceTimerIsTransientError,
		FeatureTransportDelta, FeatureTransportAuto:
		return name, true
	case FeatureResourceTimerIsTransientFailure:
		return FeatureResourceTimerIsTransientError, true
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
