package main

import (
	"encoding/json"
	"fmt"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// resourceRow is a row of lds, rds, cds, eds and filter_chain: a resource, and
// whether it is valid.
type resourceRow struct {
	Body      []byte `json:"resource_b64"`
	TypeURL   string `json:"type_url"`
	Suite     string
	WantOK    bool     `json:"want_ok"`
	WantName  string   `json:"want_name"`
	Server    string   `json:"server_config"` // the entry that it came from
	Providers []string `json:"cert_provider_instances_used"`
}

// message is the type that a row's suite is about.
func (r resourceRow) message() string {
	switch {
	case strings.HasPrefix(r.Suite, "unmarshal_lds"), strings.HasPrefix(r.Suite, "filter_chain"):
		return "envoy.config.listener.v3.Listener"
	case strings.HasPrefix(r.Suite, "unmarshal_rds"):
		return "envoy.config.route.v3.RouteConfiguration"
	case strings.HasSuffix(r.Suite, "unmarshal_cds"):
		return "envoy.config.cluster.v3.Cluster"
	default:
		return "envoy.config.endpoint.v3.ClusterLoadAssignment"
	}
}

// context is a context in which the row's certificate provider instances are there.
func (r resourceRow) context() (*resource.DecodeContext, error) {
	server := r.Server
	if server == "" {
		server = `{"server_uri": "unused.example:443", "channel_creds": [{"type": "insecure"}]}`
	}
	providers := make(map[string]any)
	for _, name := range r.Providers {
		providers[name] = map[string]any{"plugin_name": "file_watcher", "config": map[string]string{
			"certificate_file": "c", "private_key_file": "k", "ca_certificate_file": "a",
		}}
	}
	encoded, err := json.Marshal(providers)
	if err != nil {
		return nil, err
	}
	boot, err := bootstrap.Parse([]byte(`{"xds_servers": [`+server+`], "certificate_providers": `+string(encoded)+`}`), bootstrap.WithFederation(true))
	if err != nil {
		return nil, err
	}
	reg := registry.New()
	standard.Register(reg)
	types, err := reg.Freeze()
	if err != nil {
		return nil, err
	}
	return &resource.DecodeContext{Server: boot.Servers()[0], Bootstrap: boot, Types: types}, nil
}

// decode reads the row's resource as a client does that asked for a type.
func (r resourceRow) decode() (resource.Update, error) {
	dc, err := r.context()
	if err != nil {
		return nil, err
	}
	body, url := r.Body, r.TypeURL
	if strings.HasSuffix(url, "/"+wrapperMessage) {
		if body, url, err = unwrap(body); err != nil {
			return nil, err
		}
	}
	t, ok := dc.Types.LookupURL(url)
	if !ok || t.Name != r.message() {
		return nil, fmt.Errorf("it is a %q", url)
	}
	name, err := t.PeekName(body)
	if err != nil {
		return nil, err
	}
	if dc.Name, err = dc.ParseName(name); err != nil {
		return nil, err
	}
	return t.Decode(dc, body)
}

// decoder decodes bytes as decode does the row's, with one context for all.
func (r resourceRow) decoder() (func(body []byte) error, error) {
	dc, err := r.context()
	if err != nil {
		return nil, err
	}
	t, ok := dc.Types.Lookup(r.message())
	if !ok {
		return nil, fmt.Errorf("type %s is unknown", r.message())
	}
	if dc.Name, err = dc.ParseName("mutated"); err != nil {
		return nil, err
	}
	return func(body []byte) error {
		_, err := t.Decode(dc, body)
		return err
	}, nil
}

func judgeResource(v *verdict, row resourceRow) error {
	u, err := row.decode()
	if v.compareOK(row.WantOK, err) && row.WantName != "" {
		v.compare("name", row.WantName, u.Name().String())
	}
	return nil
}

// wrapperMessage is the message that may wrap a resource.
const wrapperMessage = "envoy.service.discovery.v3.Resource"

func unwrap(body []byte) (inner []byte, url string, err error) {
	m := new(discoveryv3.Resource)
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, "", err
	}
	return m.GetResource().GetValue(), m.GetResource().GetTypeUrl(), nil
}
