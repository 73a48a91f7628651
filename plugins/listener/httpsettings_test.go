package listener_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// managed returns a client listener whose manager has settings.
func managed(settings string) string {
	return `api_listener { api_listener { ` + managerAny + ` { route_config { name: "r" } ` + settings + ` ` + routerText + ` } } }`
}

// Profile HTTP reads who the client is and which host a request names. Other profiles do not.
func TestHTTPSettings(t *testing.T) {
	const text = `use_remote_address { value: true } skip_xff_append: true strip_any_host_port: true strip_trailing_host_dot: true
		internal_address_config { cidr_ranges { address_prefix: "10.0.0.0" prefix_len { value: 8 } } } forward_client_cert_details: APPEND_FORWARD
		set_current_client_cert_details { subject { value: true } cert: true chain: true dns: true uri: true issuer: true }`
	want := &listener.HTTPSettings{
		UseRemoteAddress: true, SkipAppend: true, StripAnyPort: true, StripDot: true, ClientCert: listener.ClientCertAppend,
		Internal: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Details:  listener.ClientCertDetails{Cert: true, Chain: true, Subject: true, URI: true, DNS: true, Issuer: true},
	}
	got := decode(t, managed(text), plugincase.Profile(resource.HTTP)).API.HTTP
	if !reflect.DeepEqual(got, want) || !got.Equal(want) {
		t.Errorf("profile HTTP reads %+v; want %+v", got, want)
	}
	if other := decode(t, managed(`xff_num_trusted_hops: 1`), plugincase.Profile(resource.HTTP)).API.HTTP; other.TrustedHops != 1 || other.Equal(want) {
		t.Errorf("other settings are %+v", other)
	}
	if got := decode(t, managed(text)).API.HTTP; got != nil {
		t.Errorf("profile GRPC reads %+v; want nothing", got)
	}
}

// Settings that the server cannot follow are rejected in profile HTTP.
func TestHTTPSettingsViolations(t *testing.T) {
	for settings, want := range map[string]string{
		`forward_client_cert_details: 7`:                                             `forward_client_cert_details = 7; must be one of SANITIZE`,
		`set_current_client_cert_details { format: JSON }`:                           `set_current_client_cert_details.format = JSON; must be TEXT`,
		`internal_address_config { cidr_ranges { address_prefix: "x" } }`:            `internal_address_config.cidr_ranges[0].address_prefix = "x"; must be an IP address`,
		`strip_any_host_port: true strip_matching_host_port: true`:                   `strip_any_host_port = true; must not be set beside strip_matching_host_port`,
		`internal_address_config { ` + strings.Repeat(`cidr_ranges {} `, 1001) + `}`: `internal_address_config.cidr_ranges = 1001; must have at most 1000 ranges`,
	} {
		m := new(listenerv3.Listener)
		if err := prototext.Unmarshal([]byte(`name: "l" `+managed(settings)), m); err != nil {
			t.Fatal(err)
		}
		_, err := plugincase.Decode(t, listener.Type(), m, plugincase.Profile(resource.HTTP))
		if err == nil || !strings.Contains(fmt.Sprint(err), "api_listener.api_listener."+want) {
			t.Errorf("%.60s: %v; want %s", settings, err, want)
		}
	}
}

// Host removes what the settings say.
func TestSettingsHost(t *testing.T) {
	if got := (*listener.HTTPSettings)(nil).Host("a.:80", "80"); got != "a.:80" {
		t.Errorf("no settings change the host to %q", got)
	}
	own := &listener.HTTPSettings{StripOwnPort: true}
	for host, want := range map[string]string{"a:80": "a", "a:81": "a:81", "[::1]:80": "[::1]", "a.": "a."} {
		if got := own.Host(host, "80"); got != want {
			t.Errorf("%s becomes %s; want %s", host, got, want)
		}
	}
}
