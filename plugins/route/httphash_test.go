package route_test

import (
	"fmt"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// TestHTTPHashPolicies expects the policies of profile HTTP, and the attributes of the cookies that they generate.
func TestHTTPHashPolicies(t *testing.T) {
	for text, want := range map[string]string{
		`header { header_name: "X-A" }`:                             `"x-a" 0 false ""`,
		`filter_state { key: "io.grpc.channel_id" } terminal: true`: `"" 0 true ""`,
		`filter_state { key: "other" }`:                             ``,
		`connection_properties { source_ip: true }`:                 `"" 3 false ""`,
		`connection_properties { source_ip: false }`:                ``,
		`query_parameter { name: "q" } terminal: true`:              `"q" 2 true ""`,
		`cookie { name: "s" }`:                                      `"s" 1 false ""`,
		`cookie { name: "s p" path: "/;" }`:                         `"s p" 1 false ""`, // it generates none
		`cookie { name: "s" ttl {} }`:                               `"s" 1 false "; HttpOnly"`,
		`cookie { name: "s" ttl { seconds: 60 } path: "/p" }`:       `"s" 1 false "; Max-Age=60; Path=/p; HttpOnly"`,
		`cookie { name: "s" ttl { nanos: 1 } }`:                     `"s" 1 false "; Max-Age=1; HttpOnly"`,
		`cookie { name: "s" ttl { seconds: 1 nanos: 1 } }`:          `"s" 1 false "; Max-Age=2; HttpOnly"`,
		`cookie { name: "azAZ09!#$%&'*+-.^_` + "`" + `|~" ttl {} }`: `"azAZ09!#$%&'*+-.^_` + "`" + `|~" 1 false "; HttpOnly"`,
		`cookie { name: "s" ttl {} path: "/ ~" }`:                   `"s" 1 false "; Path=/ ~; HttpOnly"`,
		`cookie { name: "s" ttl { seconds: -1 } }`:                  `!hash_policy[0].cookie.ttl = -1s; must be at least 0s`,
		`cookie { name: "a b" ttl {} }`:                             `!hash_policy[0].cookie = "a b"; must have the name and the path of a cookie: the name "a b" is not a token`,
		`cookie { name: "s" ttl {} path: "/;" }`:                    `! the attribute "/;" has a semicolon`,
		`cookie { name: "s" ttl {} path: "/\x1f" }`:                 `! has a semicolon or characters that are not printable ASCII`,
		`cookie { name: "s" ttl {} path: "/\x7f" }`:                 `! has a semicolon or characters that are not printable ASCII`,
		`cookie { name: "s" ttl {} attributes { name: "SameSite" value: "Lax" } attributes { name: "Secure" } }`: `"s" 1 false "; SameSite=Lax; Secure; HttpOnly"`,
		`cookie { name: "s" ttl {} attributes { name: "A" } attributes { name: "B" value: ";" } }`:               `!cookie.attributes[1] = "B"; must be the name of an attribute`,
	} {
		m := new(routev3.RouteConfiguration)
		if err := prototext.Unmarshal([]byte(`name: "r" virtual_hosts { name: "h" domains: "*" routes { match { prefix: "" } route { cluster: "c" hash_policy { `+text+` } } } }`), m); err != nil {
			t.Fatal(err)
		}
		u, err := plugincase.Decode(t, route.Type(), m, plugincase.Profile(resource.HTTP))
		if rule, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), rule) {
				t.Errorf("%s:\n%v, want %q", text, err, rule)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s:\n%v", text, err)
			continue
		}
		var got []string
		for _, p := range u.(*route.Update).VirtualHosts[0].Routes[0].HashPolicies {
			got = append(got, fmt.Sprintf("%q %d %t %q", p.Header, p.Kind, p.Terminal, p.Generate))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s:\nthe policies are %s, want %s", text, got, want)
		}
	}
}
