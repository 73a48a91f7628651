package bootstrap_test

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

func ExampleParse() {
	config, err := bootstrap.Parse([]byte(`{
		"node": {"id": "proxy-1"},
		"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "tls"}]}],
		"client_default_listener_resource_name_template": "xdstp://east/envoy.config.listener.v3.Listener/%s",
		"authorities": {
			"east": {"xds_servers": [{"server_uri": "east.example:443", "channel_creds": [{"type": "tls"}]}]}
		}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	name, err := config.ClientListenerName("xds:///shop.example")
	if err != nil {
		fmt.Println(err)
		return
	}
	servers, err := config.ServersFor(name)
	fmt.Println(name, servers, err)
	// Output:
	// xdstp://east/envoy.config.listener.v3.Listener/shop.example [east.example:443 (tls)] <nil>
}

func ExampleParse_problems() {
	_, err := bootstrap.Parse([]byte(`{
		"xds_servers": [{"server_uri": 443, "channel_creds": [{"type": "alts"}]}],
		"authorities": {"east": {"client_listener_resource_name_template": "listener/%s"}}
	}`))
	fmt.Println(err)
	// Output:
	// bootstrap: xds_servers[0].server_uri = a number; must be a string
	// bootstrap: xds_servers[0].channel_creds = "alts"; must have a type that is supported: google_default, insecure, tls
	// bootstrap: authorities["east"].client_listener_resource_name_template = "listener/%s"; must start with xdstp://east/
}

func ExampleNew() {
	config, err := bootstrap.New(bootstrap.Spec{
		Node: &corev3.Node{Id: "proxy-1"},
		Servers: []bootstrap.ServerSpec{{
			URI:          "xds.example:443",
			ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}},
			Features:     []any{"fail_on_data_errors"},
		}},
	})
	fmt.Println(config, err)
	// Output:
	// servers [xds.example:443 (insecure; fail_on_data_errors)], authorities [], federation true <nil>
}

func ExampleServer_Equal() {
	parse := func(entry string) *bootstrap.Server {
		s, err := bootstrap.ParseServer([]byte(entry))
		if err != nil {
			fmt.Println(err)
		}
		return s
	}
	a := parse(`{"server_uri": "xds.example:443", "channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "/a"}}]}`)
	b := parse(`{"server_uri": "dns:///xds.example:443", "channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "/a"}}]}`)
	c := parse(`{"server_uri": "xds.example:443", "channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "/b"}}]}`)
	fmt.Println(a.Equal(b), a.Equal(c))
	// Output:
	// true false
}
