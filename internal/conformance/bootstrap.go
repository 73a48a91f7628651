package main

import (
	"encoding/json"
	"fmt"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// bootstrapRow is a row of bootstrap: a whole file or one server entry. Nil and empty
// fields are not compared.
type bootstrapRow struct {
	Fragment string
	Input    string
	WantOK   bool `json:"want_ok"`

	// Of a server entry.
	ServerURI      string    `json:"server_uri"`
	ChannelCreds   string    `json:"selected_channel_creds"`
	CallCreds      *int      `json:"num_selected_call_creds"`
	ServerFeatures *[]string `json:"server_features"`

	// Of a whole file.
	Parsed             json.RawMessage   // the file as the peer prints it after parsing
	Node               json.RawMessage   `json:"node_proto_json"`
	ClientTemplate     string            `json:"client_default_listener_resource_name_template"`
	AuthorityTemplates map[string]string `json:"authority_templates"`
	ProviderInstances  []string          `json:"cert_provider_instances"`
}

func judgeBootstrap(v *verdict, row bootstrapRow) error {
	switch row.Fragment {
	case "allowed_grpc_services":
		v.notAsked = "allowed_grpc_services is gRFC A102, which is a draft"
		return nil
	case "xds_servers[i]":
		judgeServer(v, row)
		return nil
	case "":
		return judgeFile(v, row)
	}
	return fmt.Errorf("unknown fragment %q", row.Fragment)
}

func judgeServer(v *verdict, row bootstrapRow) {
	s, err := bootstrap.ParseServer([]byte(row.Input))
	if !v.compareOK(row.WantOK, err) {
		return
	}
	v.compare("server_uri", row.ServerURI, s.URI())
	if row.ChannelCreds != "" {
		v.compare("channel_creds", row.ChannelCreds, s.ChannelCreds().Type())
	}
	if row.CallCreds != nil {
		v.compare("call_creds", *row.CallCreds, len(s.CallCreds()))
	}
	if row.ServerFeatures != nil {
		v.compare("server_features", *row.ServerFeatures, append([]string{}, s.Features()...))
	}
}

func judgeFile(v *verdict, row bootstrapRow) error {
	config, err := bootstrap.Parse([]byte(row.Input), bootstrap.WithFederation(true))
	if !v.compareOK(row.WantOK, err) {
		return nil
	}
	if row.ClientTemplate != "" {
		n, err := config.ClientListenerName("xds:probe")
		v.compare("result of client_default_listener_resource_name_template", xdstp.Expand(row.ClientTemplate, "probe"), n.String())
		if err != nil {
			v.differences = append(v.differences, err.Error())
		}
	}
	templates := make(map[string]string)
	for _, name := range config.Authorities() {
		a, _ := config.Authority(name)
		templates[name] = a.ClientListenerTemplate
	}
	if row.AuthorityTemplates != nil {
		v.compare("authority templates", row.AuthorityTemplates, templates)
	}
	providers := config.CertificateProviders()
	for _, name := range row.ProviderInstances {
		_, ok := providers[name]
		v.compare("certificate provider "+name, true, ok)
	}
	if row.Node != nil {
		if err := compareNode(v, row.Node, config.Node()); err != nil {
			return err
		}
	}
	if row.Parsed != nil {
		compareConfigs(v, row.Parsed, config)
	}
	return nil
}

// compareNode compares nodes without the fields that a client adds. It treats an empty
// locality as absent.
func compareNode(v *verdict, peer json.RawMessage, ours *corev3.Node) error {
	var theirs corev3.Node
	if err := protojson.Unmarshal(peer, &theirs); err != nil {
		return err
	}
	theirs.ClientFeatures, theirs.UserAgentName, theirs.UserAgentVersionType = nil, "", nil
	for _, node := range []*corev3.Node{&theirs, ours} {
		if proto.Size(node.GetLocality()) == 0 {
			node.Locality = nil
		}
	}
	if !proto.Equal(&theirs, ours) {
		v.compare("node", protojson.Format(&theirs), protojson.Format(ours))
	}
	return nil
}

// compareConfigs parses the configuration that the peer prints. It must equal our parsed
// configuration.
func compareConfigs(v *verdict, peer json.RawMessage, ours *bootstrap.Config) {
	theirs, err := bootstrap.Parse(peer, bootstrap.WithFederation(true))
	if !v.compareOK(true, err) {
		return
	}
	v.compare("parsed", theirs.String(), ours.String())
	v.compare("parsed servers", keys(theirs.Servers()), keys(ours.Servers()))
	for _, name := range theirs.Authorities() {
		a, _ := theirs.Authority(name)
		if b, ok := ours.Authority(name); ok {
			v.compare("parsed servers of "+name, keys(a.Servers), keys(b.Servers))
		}
	}
	v.compare("parsed certificate providers", providerNames(theirs), providerNames(ours))
}

func keys(servers []*bootstrap.Server) (keys []string) {
	for _, s := range servers {
		keys = append(keys, s.Key())
	}
	return keys
}

func providerNames(config *bootstrap.Config) (names []string) {
	for name, provider := range config.CertificateProviders() {
		names = append(names, name+" "+provider.PluginName)
	}
	slices.Sort(names)
	return names
}
