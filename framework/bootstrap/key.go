package bootstrap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
)

// serverKey returns a digest of all properties that distinguish servers. It is a digest so that
// keys can be logged, and a digest of JSON so that parts cannot run into each other.
func serverKey(s *Server) string {
	type creds struct{ Type, Config string }
	key := struct {
		URI      string
		Channel  creds
		Call     []creds
		Features []string
	}{
		URI:      canonicalURI(s.uri),
		Channel:  creds{s.channelCreds.typ, canonicalJSON(s.channelCreds.config)},
		Features: s.features,
	}
	for _, c := range s.callCreds {
		key.Call = append(key.Call, creds{c.typ, canonicalJSON(c.config)})
	}
	text, _ := json.Marshal(key) // strings always marshal
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// key returns a digest of the content.
func (c *Config) key() string {
	type authority struct {
		Name, Template string
		Servers        []string
		Reachability   bool `json:",omitempty"`
	}
	type provider struct{ Name, Plugin, Config string }
	node, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c.node) // it was unmarshalled, or is a copy
	content := struct {
		Federation                     bool
		Node                           []byte
		Servers                        []string
		Authorities                    []authority
		ClientTemplate, ServerTemplate string
		Providers                      []provider
		ChannelCreds, CallCreds        []string
		Services                       []string       `json:",omitempty"`
		LastKnownGood                  *LastKnownGood `json:",omitempty"`
	}{
		Federation: c.federation, Node: node, Servers: serverKeys(c.servers),
		ClientTemplate: c.clientTemplate, ServerTemplate: c.serverTemplate, LastKnownGood: c.lastKnownGood,
		ChannelCreds: slices.Sorted(slices.Values(c.options.channelCreds)),
		CallCreds:    slices.Sorted(slices.Values(c.options.callCreds)),
	}
	for _, name := range c.Authorities() {
		a := c.authorities[name]
		content.Authorities = append(content.Authorities, authority{name, a.ClientListenerTemplate, serverKeys(a.Servers), a.FallbackOnReachabilityOnly})
	}
	for _, name := range slices.Sorted(maps.Keys(c.providers)) {
		p := c.providers[name]
		content.Providers = append(content.Providers, provider{name, p.PluginName, canonicalJSON(p.Config)})
	}
	for _, target := range slices.Sorted(maps.Keys(c.services)) {
		content.Services = append(content.Services, target, c.services[target].key)
	}
	text, _ := json.Marshal(content) // strings always marshal
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

func serverKeys(servers []*Server) []string {
	keys := make([]string, 0, len(servers))
	for _, s := range servers {
		keys = append(keys, s.key)
	}
	return keys
}

// canonicalJSON returns an object in a form that depends only on its value: members sorted, no
// space. Numbers keep their digits, so that different numbers stay different for every reader. An
// empty object configures nothing, just as an absent one.
func canonicalJSON(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil || len(fields) == 0 {
		return "" // absent; buildCreds has checked that it is an object
	}
	text, _ := json.Marshal(fields) // it was decoded from JSON
	return string(text)
}

// canonicalURI returns the same text for targets that gRPC cannot distinguish, with any resolvers
// that a program registers. It does not guess: it keeps a doubtful target unchanged, which costs at
// most a second channel.
//
//   - The dns scheme without a DNS server has three forms, with the same
//     endpoint: dns:h, dns:/h and dns:///h.
//   - A target that has no scheme uses dns, gRPC's default. "h:1" might have the
//     scheme h, but a dotted name before a port is no scheme of any resolver, and an
//     IP address is none by RFC 3986.
func canonicalURI(uri string) string {
	before, after, found := strings.Cut(uri, ":")
	switch {
	case found && strings.EqualFold(before, "dns"):
		if rest, ok := strings.CutPrefix(after, "///"); ok {
			return "dns:///" + rest
		}
		if strings.HasPrefix(after, "//") {
			return uri // with a DNS server
		}
		return "dns:///" + strings.TrimPrefix(after, "/")
	case strings.ContainsAny(uri, "/%?#"):
		return uri
	case !found, !isScheme(before), strings.Contains(before, ".") && isPort(after):
		return "dns:///" + uri
	}
	return uri
}

// isScheme reports whether s can be a URI scheme (RFC 3986 section 3.1).
func isScheme(s string) bool {
	for i, c := range s {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return s != ""
}

func isPort(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
