package bootstrap

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const withServices = `{
	"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "tls"}]}],
	"authorities": {"east": {}},
	"allowed_grpc_services": {
		"dns:///authz.example:443": {
			"channel_creds": [{"type": "alts"}, {"type": "tls"}, {"type": "insecure"}],
			"call_creds": [{"type": "unknown"}, {"type": "jwt_token_file", "config": {"jwt_token_file": "/t"}}]
		},
		"plain:1": {"channel_creds": [{"type": "insecure"}]}
	}
}`

// A service has the first channel credentials and all call credentials that the program supports. It is no xDS server.
func TestGRPCServices(t *testing.T) {
	for _, federation := range []bool{true, false} {
		c, err := Parse([]byte(withServices), WithFederation(federation))
		if err != nil {
			t.Fatal(err)
		}
		s, ok := c.GRPCService("dns:///authz.example:443")
		if !ok || s.String() != "dns:///authz.example:443 (tls, jwt_token_file)" {
			t.Errorf("GRPCService = %s, %t; want it with tls and jwt_token_file", s, ok)
		}
		if c.HasServer(s) {
			t.Error("HasServer is true for a service; want false, or a control plane gets load reports sent there")
		}
		if s, ok := c.GRPCService("authz.example:443"); ok {
			t.Errorf("GRPCService of another spelling = %s; want none", s)
		}
	}
	var spec Spec
	if err := json.Unmarshal([]byte(withServices), &spec); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse([]byte(withServices))
	if err != nil {
		t.Fatal(err)
	}
	if again.Key() != c.Key() {
		t.Errorf("the marshaled bootstrap has another key: %s", text)
	}
	for _, change := range []string{`"plain:1"->"plain:2"`, `[{"type": "insecure"}]->[{"type": "tls"}]`, `"/t"->"/u"`} {
		old, changed, _ := strings.Cut(change, "->")
		other, err := Parse([]byte(strings.Replace(withServices, old, changed, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if other.Key() == c.Key() {
			t.Errorf("the change %s keeps the key; want another one", change)
		}
	}
}

// Each invalid service is an error that names it.
func TestInvalidGRPCServices(t *testing.T) {
	var many []string
	for i := range maxGRPCServices + 1 {
		many = append(many, fmt.Sprintf(`"a:%d": {"channel_creds": [{"type": "tls"}]}`, i))
	}
	for services, want := range map[string]string{
		`{"a": {}}`:   `allowed_grpc_services["a"].channel_creds = missing; must have a type that is supported: google_default, insecure, tls`,
		`{"a": null}`: `allowed_grpc_services["a"] = null; must be an object`,
		`{"a": {"channel_creds": [{"type": "alts"}]}}`: `allowed_grpc_services["a"].channel_creds = "alts"; must have a type that is supported: google_default, insecure, tls`,
		`{"a": {"channel_creds": [{"config": {}}]}}`:   `allowed_grpc_services["a"].channel_creds[0].type = missing; must be the name of a type of credentials`,
		`{"file:///a": {"channel_creds": []}}`:         `allowed_grpc_services["file:///a"].channel_creds = missing; must have a type that is supported: google_default, insecure, tls`,
		`{"": {"channel_creds": [{"type": "tls"}]}}`:   `allowed_grpc_services[""] = ""; must be the target of a service (gRFC A102)`,
		`[]`: `allowed_grpc_services = a list; must be an object`,
		`{"a": {"channel_creds": [{"type": "tls"}], "call_creds": [{"type": "jwt_token_file"}]}}`: `allowed_grpc_services["a"].call_creds[0].config.jwt_token_file = missing; must be the path of a file (gRFC A97)`,
		`{` + strings.Join(many, ",") + `}`: `allowed_grpc_services = 1001 entries; must have at most 1000`,
	} {
		_, err := Parse([]byte(`{"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "tls"}]}], "allowed_grpc_services": ` + services + `}`))
		if err == nil || err.Error() != "bootstrap: "+want {
			t.Errorf("%.80s: %v\nwant bootstrap: %s", services, err, want)
		}
	}
}
