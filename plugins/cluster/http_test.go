package cluster_test

import (
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

const (
	options = `typed_extension_protocol_options { key: "envoy.extensions.upstreams.http.v3.HttpProtocolOptions" value { value: `
	static  = `load_assignment { cluster_name: "x" endpoints { lb_endpoints { endpoint { address { socket_address { address: "10.0.0.1" port_value: 80 } } } } } }`
)

// TestHTTPSettings expects profile HTTP to read the protocol, the time limit of connections, and endpoints in the cluster.
// Profile gRPC reads none of them.
func TestHTTPSettings(t *testing.T) {
	for text, want := range map[string]cluster.HTTPSettings{
		`type: STATIC ` + static:                                    {ConnectTimeout: 5 * time.Second},
		`type: STRICT_DNS connect_timeout { seconds: 2 } ` + static: {ConnectTimeout: 2 * time.Second},
		static + options + `"\032\002\012\000" } }`:                 {ConnectTimeout: 5 * time.Second, Version: cluster.HTTP1},
		static + options + `"\032\002\022\000" } }`:                 {ConnectTimeout: 5 * time.Second, Version: cluster.HTTP2},
		static + options + `"\042\000" } }`:                         {ConnectTimeout: 5 * time.Second},
		static + options + `"\052\000" } }`:                         {ConnectTimeout: 5 * time.Second, Version: cluster.HTTPAuto},
	} {
		u := plugincase.Read[*cluster.Update](t, cluster.Type(), new(clusterv3.Cluster), `name: "c" `+text, plugincase.Profile(resource.HTTP))
		if u.HTTP == nil || *u.HTTP != want {
			t.Errorf("%s:\n%+v, want %+v", text, u.HTTP, want)
		}
		switch d := u.Discovery.(type) {
		case cluster.Static:
			if d.Endpoints == nil {
				t.Errorf("%s: no endpoints", text)
			}
		case cluster.StrictDNS:
			if d.Endpoints == nil || !strings.Contains(text, "DNS") {
				t.Errorf("%s: the endpoints are %v", text, d)
			}
		default:
			t.Errorf("%s: the cluster finds its endpoints by %T", text, d)
		}
	}
	u := plugincase.Read[*cluster.Update](t, cluster.Type(), new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } connect_timeout { seconds: 2 }`)
	if u.HTTP != nil {
		t.Errorf("profile gRPC reads %+v, want nothing", u.HTTP)
	}
}

// TestHTTPErrors expects the violations to name the fields that are not supported.
func TestHTTPErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`type: STATIC`, "load_assignment; must be set"},
		{`type: ORIGINAL_DST`, "must be one of STATIC, STRICT_DNS, LOGICAL_DNS, EDS"},
		{static + ` connect_timeout { nanos: -1 }`, "connect_timeout"},
		{static + options + `"\032\002\032\000" } }`, "must choose HTTP/1 or HTTP/2"},
	} {
		m := new(clusterv3.Cluster)
		if err := prototext.Unmarshal([]byte(`name: "c" `+test.text), m); err != nil {
			t.Fatal(err)
		}
		_, err := plugincase.Decode(t, cluster.Type(), m, plugincase.Profile(resource.HTTP))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\n%v, want %q", test.text, err, test.want)
		}
	}
}
