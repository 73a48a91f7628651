package bootstrap

import (
	"encoding/json"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// Spec is a bootstrap configuration as plain values, for [New]. It has the fields of the file, and
// marshals to and from it. An empty template counts as not set.
type Spec struct {
	// Servers are the servers for old-style names and for authorities without their own servers.
	// The most preferred server is first (gRFC A27, A71).
	Servers []ServerSpec `json:"xds_servers,omitempty"`
	// Node identifies the client (A27). The client adds its user agent and features.
	Node *corev3.Node `json:"-"`
	// Authorities are the authorities of new-style names, by decoded name (A47).
	Authorities map[string]AuthoritySpec `json:"authorities,omitempty"`
	// ClientDefaultListenerTemplate makes the listener name for a target without an
	// authority (A47). Its default is "%s".
	ClientDefaultListenerTemplate string `json:"client_default_listener_resource_name_template,omitempty"`
	// ServerListenerTemplate makes the listener name for a server (A36, A47). It has no default.
	ServerListenerTemplate string `json:"server_listener_resource_name_template,omitempty"`
	// CertificateProviders are the plugin instances that resources may name (A29).
	CertificateProviders map[string]CertificateProvider `json:"certificate_providers,omitempty"`
	// AllowedGRPCServices are the services that resources of untrusted servers may name, by target (A102).
	AllowedGRPCServices map[string]GRPCServiceSpec `json:"allowed_grpc_services,omitempty"`
	// LastKnownGood sets up the last known good store. It is the field xdsforge.last_known_good of the
	// file. Nil means that there is no store, unless the program sets one up.
	LastKnownGood *LastKnownGood `json:"-"`
}

// AuthoritySpec is the entry of one authority (gRFC A47).
type AuthoritySpec struct {
	// ClientListenerTemplate makes the listener name for a target with this authority. It must
	// start with "xdstp://", the percent-encoded authority and "/". Its default is that prefix
	// followed by "envoy.config.listener.v3.Listener/%s".
	ClientListenerTemplate string `json:"client_listener_resource_name_template,omitempty"`
	// Servers are the servers of the authority, most preferred first. If there are none, the client
	// uses the servers of the Spec.
	Servers []ServerSpec `json:"xds_servers,omitempty"`
	// FallbackOnReachabilityOnly falls back as soon as the client cannot reach a server, even if all
	// resources are cached (A95). The default is to fall back only if a resource is not cached (A71).
	FallbackOnReachabilityOnly bool `json:"fallback_on_reachability_only,omitempty"`
}

// ServerSpec is one server entry (gRFC A27, A30, A47, A97).
type ServerSpec struct {
	// URI is the gRPC target of the server. Required. The schemes "file" and "memory" name a Source
	// in place of a server; see package sourced.
	URI string `json:"server_uri"`
	// ChannelCreds are channel credentials. The client uses the first supported type. Required,
	// unless the URI has the scheme "file" or "memory".
	ChannelCreds []CredsSpec `json:"channel_creds"`
	// CallCreds are call credentials. The client uses all supported types.
	CallCreds []CredsSpec `json:"call_creds,omitempty"`
	// Features are the features that the server supports; see the Feature constants. Entries may
	// have any JSON type. Unknown entries are ignored.
	Features []any `json:"server_features,omitempty"`
}

// CredsSpec is one entry of a list of credentials.
type CredsSpec struct {
	// Type names the credentials. Required.
	Type string `json:"type"`
	// Config is a JSON object, or nil if the type needs none.
	Config json.RawMessage `json:"config,omitempty"`
}

// CertificateProvider is one plugin instance (gRFC A29). It is kept unchanged even if no plugin is
// known by its name.
type CertificateProvider struct {
	// PluginName names the implementation, such as "file_watcher". Required.
	PluginName string `json:"plugin_name"`
	// Config is a JSON object, or nil.
	Config json.RawMessage `json:"config,omitempty"`
}

// MarshalJSON returns the bootstrap file of s.
func (s Spec) MarshalJSON() ([]byte, error) {
	type fields Spec // without this method
	file := struct {
		fields
		Node json.RawMessage `json:"node,omitempty"`
		Own  struct {
			LastKnownGood *lkgFile `json:"last_known_good,omitempty"`
		} `json:"xdsforge,omitzero"`
	}{fields: fields(s)}
	file.Own.LastKnownGood = s.LastKnownGood.file()
	if s.Node != nil {
		node, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(s.Node)
		if err != nil {
			return nil, err
		}
		file.Node = node
	}
	return json.Marshal(file)
}

// UnmarshalJSON reads a bootstrap file. It checks only the types of the values. The error has all
// problems, each an [*Error].
func (s *Spec) UnmarshalJSON(data []byte) error {
	var p problems
	*s = decodeSpec(&p, data, true)
	return p.err()
}
