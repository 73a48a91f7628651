package bootstrap

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// build validates a Spec, from a file or from Go code, and returns its Config. It returns nil if
// there are problems.
func build(p *problems, spec Spec, o options) *Config {
	if !o.federation {
		spec.Authorities, spec.ClientDefaultListenerTemplate = nil, ""
	}
	c := &Config{
		federation:     o.federation,
		node:           new(corev3.Node),
		servers:        buildServers(p, "xds_servers", spec.Servers, o),
		authorities:    make(map[string]Authority, len(spec.Authorities)),
		clientTemplate: spec.ClientDefaultListenerTemplate,
		serverTemplate: spec.ServerListenerTemplate,
		providers:      make(map[string]CertificateProvider, len(spec.CertificateProviders)),
		services:       buildGRPCServices(p, spec.AllowedGRPCServices, o),
		keys:           make(map[string]bool),
		options:        o,
		lastKnownGood:  buildLastKnownGood(p, spec.LastKnownGood),
	}
	if spec.Node != nil {
		c.node = proto.CloneOf(spec.Node)
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Authorities)) {
		c.authorities[name] = buildAuthority(p, name, spec.Authorities[name], c.servers, o)
	}
	if len(spec.Servers) == 0 && !ownServers(spec.Authorities) {
		p.add("xds_servers", "missing", "must list a server, unless every authority has its own")
	}
	if c.clientTemplate == "" {
		c.clientTemplate = "%s"
	}
	if o.federation {
		checkTemplate(p, "client_default_listener_resource_name_template", c.clientTemplate)
		checkTemplate(p, "server_listener_resource_name_template", c.serverTemplate)
	}
	for _, name := range slices.Sorted(maps.Keys(spec.CertificateProviders)) {
		c.providers[name] = buildProvider(p, name, spec.CertificateProviders[name])
	}
	if p.list != nil {
		return nil
	}
	c.addKeys(c.servers)
	for _, a := range c.authorities {
		c.addKeys(a.Servers)
	}
	return c
}

// ownServers reports whether there are authorities and each has its own servers.
func ownServers(authorities map[string]AuthoritySpec) bool {
	for _, a := range authorities {
		if len(a.Servers) == 0 {
			return false
		}
	}
	return len(authorities) > 0
}

func buildAuthority(p *problems, name string, spec AuthoritySpec, topLevel []*Server, o options) Authority {
	path := entryPath("authorities", name)
	a := Authority{
		Name:                   name,
		Servers:                buildServers(p, path+".xds_servers", spec.Servers, o),
		ClientListenerTemplate: spec.ClientListenerTemplate,

		FallbackOnReachabilityOnly: spec.FallbackOnReachabilityOnly,
	}
	if len(a.Servers) == 0 {
		a.Servers = topLevel
	}
	prefix := "xdstp://" + xdstp.EncodeAuthority(name) + "/"
	if _, err := xdstp.Parse(prefix + "t"); err != nil {
		p.addCause(path, text(name), "must be the name of an authority", err)
	}
	path += ".client_listener_resource_name_template"
	switch {
	case a.ClientListenerTemplate == "":
		a.ClientListenerTemplate = prefix + "envoy.config.listener.v3.Listener/%s"
	case !hasAuthority(a.ClientListenerTemplate, name):
		p.add(path, text(a.ClientListenerTemplate), "must start with "+prefix)
	default:
		checkTemplate(p, path, a.ClientListenerTemplate)
	}
	return a
}

// hasAuthority reports whether the template starts with "xdstp://", the authority in any
// percent-encoding, and "/". The value for "%s" cannot be part of it.
func hasAuthority(template, authority string) bool {
	rest, ok := strings.CutPrefix(template, "xdstp://")
	encoded, _, found := strings.Cut(rest, "/")
	n, err := xdstp.Parse("xdstp://" + encoded + "/t")
	return ok && found && err == nil && n.Authority() == authority
}

// checkTemplate reports a new-style template that does not expand to a name for any value.
func checkTemplate(p *problems, path, template string) {
	if !strings.HasPrefix(template, "xdstp:") {
		return
	}
	if _, err := xdstp.Parse(xdstp.Expand(template, "x")); err != nil {
		p.addCause(path, text(template), "must expand to the name of a resource", err)
	}
}

func buildServers(p *problems, path string, specs []ServerSpec, o options) []*Server {
	servers := make([]*Server, 0, len(specs))
	for i, spec := range specs {
		servers = append(servers, buildServer(p, indexPath(path, i), spec, o))
	}
	return servers
}

// buildServer is the only function that creates a Server. The result is unusable if there are
// problems.
func buildServer(p *problems, path string, spec ServerSpec, o options) *Server {
	s := &Server{uri: spec.URI, features: knownFeatures(spec.Features)}
	if s.uri == "" {
		p.add(fieldPath(path, "server_uri"), "missing", "must be the target of a server")
	}
	channel := fieldPath(path, "channel_creds")
	supported := buildCreds(p, channel, spec.ChannelCreds, o.channelCreds, 1)
	s.callCreds = buildCreds(p, fieldPath(path, "call_creds"), spec.CallCreds, o.callCreds, len(spec.CallCreds))
	switch {
	case len(supported) > 0:
		s.channelCreds = supported[0]
	case len(spec.ChannelCreds) == 0 && isLocal(s.uri):
	case !slices.ContainsFunc(spec.ChannelCreds, func(c CredsSpec) bool { return c.Type == "" }):
		p.add(channel, credsTypes(spec.ChannelCreds), "must have a type that is supported: "+o.channelTypes())
	}
	s.key = serverKey(s)
	return s
}

// isLocal reports whether a server entry names resources in files or in the same process. There is
// no channel then, and the entry needs no channel credentials.
func isLocal(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "file") || strings.EqualFold(scheme, "memory")
}

func credsTypes(list []CredsSpec) string {
	if len(list) == 0 {
		return "missing"
	}
	var types []string
	for _, c := range list {
		types = append(types, c.Type)
	}
	return text(strings.Join(types, ", "))
}

func buildProvider(p *problems, name string, spec CertificateProvider) CertificateProvider {
	path := entryPath("certificate_providers", name)
	if spec.PluginName == "" {
		p.add(path+".plugin_name", "missing", "must be the name of a plugin")
	}
	checkObject(p, path+".config", spec.Config)
	spec.Config = slices.Clone(spec.Config)
	return spec
}

// checkObject reports whether raw is a JSON object, or nil.
func checkObject(p *problems, path string, raw json.RawMessage) bool {
	switch v := (value{raw: raw}); {
	case raw == nil:
		return true
	case !utf8.Valid(raw) || !json.Valid(raw):
		p.add(path, "no JSON", "must be an object")
	case !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")):
		p.add(path, v.kind(), "must be an object")
	default:
		return true
	}
	return false
}
