package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
)

const bootstrapJSON = `{
	"xds_servers": [{"server_uri": "xds.example:443", "channel_creds": [{"type": "google_default"}], "server_features": ["xds_v3"]}],
	"authorities": {"east.example": {"xds_servers": [
		{"server_uri": "east.example:443", "channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "/ca.pem"}}]}
	]}}
}`

// A service config may come from a DNS record, which is not trusted.
func TestLoadReportingServerOfAnLBPolicy(t *testing.T) {
	config, err := bootstrap.Parse([]byte(bootstrapJSON))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		json string
		want string // a server, "" for none, or a part of the error after "!"
	}{
		"absent":            {`{"cluster": "c"}`, ""},
		"null":              {`{"lrs_load_reporting_server": null}`, ""},
		"top level":         {`{"lrs_load_reporting_server": {"server_uri": "xds.example:443", "channel_creds": [{"type": "google_default"}], "server_features": ["xds_v3", "unknown"]}}`, "xds.example:443"},
		"of an authority":   {`{"lrsLoadReportingServer": {"server_uri": "dns:///east.example:443", "channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "/ca.pem"}}]}}`, "dns:///east.example:443"},
		"first supported":   {`{"lrs_load_reporting_server": {"server_uri": "xds.example:443", "channel_creds": [{"type": "new"}, {"type": "google_default"}], "server_features": ["xds_v3"]}}`, "xds.example:443"},
		"foreign name":      {`{"lrs_load_reporting_server": {"server_uri": "evil.example:443", "channel_creds": [{"type": "google_default"}], "server_features": ["xds_v3"]}}`, "!evil.example:443"},
		"other credentials": {`{"lrs_load_reporting_server": {"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3"]}}`, "!insecure"},
		"their config":      {`{"lrs_load_reporting_server": {"server_uri": "east.example:443", "channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "/evil.pem"}}]}}`, "!east.example:443"},
		"further call creds": {`{"lrs_load_reporting_server": {"server_uri": "east.example:443", "channel_creds": [{"type": "tls", "config": {"ca_certificate_file": "/ca.pem"}}],
			"call_creds": [{"type": "jwt_token_file", "config": {"jwt_token_file": "/t"}}]}}`, "!jwt_token_file"},
		"no features":  {`{"lrs_load_reporting_server": {"server_uri": "xds.example:443", "channel_creds": [{"type": "google_default"}]}}`, "!google_default"},
		"no server":    {`{"lrs_load_reporting_server": {}}`, "!server_uri"},
		"a string":     {`{"lrs_load_reporting_server": "xds.example:443"}`, "!must be an object"},
		"no object":    {`[]`, "!configuration"},
		"both of them": {`{"lrs_load_reporting_server": {}, "lrsLoadReportingServer": {}}`, "!twice"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := load.ParseServer(config, []byte(tc.json))
			part, fails := strings.CutPrefix(tc.want, "!")
			switch {
			case fails:
				foreign := !slices.Contains([]string{"server_uri", "must be an object", "configuration", "twice"}, part)
				if err == nil || got != nil || !strings.Contains(err.Error(), part) || errors.Is(err, load.ErrServerNotInBootstrap) != foreign {
					t.Errorf("= %v, %v; must be an error with %q, not in the bootstrap: %t", got, err, part, foreign)
				}
			case err != nil:
				t.Error(err)
			case tc.want == "" && got != nil, tc.want != "" && (got == nil || got.URI() != tc.want):
				t.Errorf("= %v; must be %q", got, tc.want)
			}
		})
	}
	if err := load.CheckServer(config, nil); !errors.Is(err, load.ErrServerNotInBootstrap) {
		t.Errorf("no server at all: %v", err)
	}
}

// Two configurations with credentials of a program denote the same server, one in the bootstrap and
// one in an LB policy.
func TestLoadReportingServerHasTheOptionsOfTheBootstrap(t *testing.T) {
	const server = `{"server_uri": "xds.example:443", "channel_creds": [{"type": "own"}, {"type": "insecure"}], "call_creds": [{"type": "own_call"}]}`
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [`+server+`]}`), bootstrap.WithChannelCreds("own", "insecure"), bootstrap.WithCallCreds("own_call"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := load.ParseServer(config, []byte(`{"lrs_load_reporting_server": `+server+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if got.ChannelCreds().Type() != "own" || !got.Equal(config.Servers()[0]) {
		t.Errorf("the server is %v; want that of the bootstrap, %v", got, config.Servers()[0])
	}
}
