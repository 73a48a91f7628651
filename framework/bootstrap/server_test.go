package bootstrap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/internal/feature"
)

func mustServer(t testing.TB, content string, opts ...Option) *Server {
	t.Helper()
	s, err := ParseServer([]byte(content), opts...)
	if err != nil {
		t.Fatalf("%s: %v", content, err)
	}
	return s
}

func types(list []Creds) (types []string) {
	for _, c := range list {
		types = append(types, c.Type())
	}
	return types
}

func TestServer(t *testing.T) {
	s := mustServer(t, `{
		"server_uri": "xds.example.com:443",
		"channel_creds": [{"type": "alts"}, {"type": "tls", "config": {"ca_certificate_file": "/ca", "refresh_interval": "1.5s"}}, {"type": "insecure"}],
		"call_creds": [{"type": "jwt_token_file", "config": {"jwt_token_file": "/b"}}, {"type": "x"}, {"type": "jwt_token_file", "config": {"jwt_token_file": "/a"}}],
		"server_features": ["xds_v3", 1, "trusted_xds_server", "xds_v3", {"a": "b"}, "unknown", null]
	}`)
	if s.URI() != "xds.example.com:443" {
		t.Errorf("URI() = %q", s.URI())
	}
	if c := s.ChannelCreds(); c.Type() != "tls" || string(c.Config()) != `{"ca_certificate_file": "/ca", "refresh_interval": "1.5s"}` {
		t.Errorf("ChannelCreds() = %s %s", c, c.Config())
	}
	call := s.CallCreds()
	if len(call) != 2 || string(call[0].Config()) != `{"jwt_token_file": "/b"}` || string(call[1].Config()) != `{"jwt_token_file": "/a"}` {
		t.Errorf("CallCreds() = %v", call)
	}
	if got := s.Features(); !slices.Equal(got, []string{feature.TrustedXDSServer, feature.XDSV3}) {
		t.Errorf("Features() = %q", got)
	}
	for name, want := range map[string]bool{
		feature.XDSV3: true, feature.TrustedXDSServer: true,
		feature.FailOnDataErrors: false, "unknown": false, "": false,
	} {
		if s.HasFeature(name) != want {
			t.Errorf("HasFeature(%q) = %v", name, !want)
		}
	}
	if got, want := s.String(), "xds.example.com:443 (tls, jwt_token_file, jwt_token_file; trusted_xds_server, xds_v3)"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

func TestSupportedCreds(t *testing.T) {
	const entry = `{"server_uri": "u", "channel_creds": [{"type": "tls"}, {"type": "mine", "config": {"a": 1}}],
		"call_creds": [{"type": "jwt_token_file", "config": {"jwt_token_file": "/t"}}, {"type": "mine"}]}`
	s := mustServer(t, entry, WithChannelCreds("other", "mine"), WithCallCreds("mine"))
	if s.ChannelCreds().Type() != "mine" || !slices.Equal(types(s.CallCreds()), []string{"mine"}) || s.CallCreds()[0].Config() != nil {
		t.Errorf("with other types: %v", s)
	}
	if s := mustServer(t, entry, WithCallCreds()); s.ChannelCreds().Type() != "tls" || s.CallCreds() != nil {
		t.Errorf("without call credentials: %v", s)
	}
	_, err := ParseServer([]byte(entry), WithChannelCreds("z", "a"))
	if err == nil || err.Error() != `bootstrap: channel_creds = "tls, mine"; must have a type that is supported: a, z` {
		t.Errorf("without a supported type: %v", err)
	}
	// A caller may change the list after creating the option.
	list := []string{"mine"}
	opt := WithChannelCreds(list...)
	list[0] = "tls"
	if s := mustServer(t, entry, opt); s.ChannelCreds().Type() != "mine" {
		t.Errorf("the option changed: %v", s)
	}
}

func TestBothSpellingsOfTheTimerFeature(t *testing.T) {
	for _, name := range []string{feature.ResourceTimerIsTransientError, feature.ResourceTimerIsTransientFailure} {
		s := mustServer(t, `{"server_uri": "u", "channel_creds": [{"type": "insecure"}], "server_features": ["`+name+`"]}`)
		if !s.HasFeature(feature.ResourceTimerIsTransientError) || !s.HasFeature(feature.ResourceTimerIsTransientFailure) ||
			!slices.Equal(s.Features(), []string{feature.ResourceTimerIsTransientError}) {
			t.Errorf("the feature spelled %q: %v", name, s)
		}
	}
}

func TestServerErrors(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:  "bootstrap: a list; must be an object",
		`{"}`: "bootstrap: line 1, column 3 = a syntax error; must be JSON: unexpected end of JSON input",
		`{}`:  "bootstrap: server_uri = missing; must be the target of a server\nbootstrap: channel_creds = missing; must have a type that is supported: google_default, insecure, tls",
		`{"server_uri": "u", "channel_creds": [{"type": "insecure"}], "call_creds": 1}`: "bootstrap: call_creds = a number; must be a list",
	} {
		if s, err := ParseServer([]byte(in)); s != nil || err == nil || err.Error() != want {
			t.Errorf("ParseServer(%s) = %v, %v\nwant %s", in, s, err, want)
		}
	}
}

func TestServerIsImmutable(t *testing.T) {
	spec := ServerSpec{
		URI:          "u",
		ChannelCreds: []CredsSpec{{Type: "tls", Config: []byte(`{"a":1}`)}},
		CallCreds:    []CredsSpec{{Type: "jwt_token_file", Config: []byte(`{"jwt_token_file":"/t"}`)}},
		Features:     []any{feature.XDSV3},
	}
	s, err := NewServer(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.ChannelCreds[0].Config[2] = 'x'
	s.ChannelCreds().Config()[2] = 'y'
	s.CallCreds()[0] = Creds{}
	s.Features()[0] = "z"
	if got := string(s.ChannelCreds().Config()) + s.String(); got != `{"a":1}u (tls, jwt_token_file; xds_v3)` {
		t.Errorf("the server has changed: %s", got)
	}
}

func TestNothingPrintsCredentials(t *testing.T) {
	const entry = `{"server_uri": "u", "channel_creds": [{"type": "tls", "config": {"x": "secret"}}],
		"call_creds": [{"type": "jwt_token_file", "config": {"jwt_token_file": "secret"}}]}`
	s := mustServer(t, entry)
	c := mustParse(t, `{"xds_servers": [`+entry+`], "certificate_providers": {"p": {"plugin_name": "q", "config": {"x": "secret"}}}}`)
	octets := strings.Trim(fmt.Sprintf("%d", []byte("secret")), "[]")
	for _, format := range []string{"%v", "%+v", "%s"} {
		for _, v := range []any{s, c, s.ChannelCreds(), s.CallCreds()} {
			if got := fmt.Sprintf(format, v); strings.Contains(got, "secret") || strings.Contains(got, octets) {
				t.Errorf("%s of a %T: %s", format, v, got)
			}
		}
	}
	if got := fmt.Sprintf("%#v", s.ChannelCreds()); got != "bootstrap.Creds(tls)" {
		t.Errorf("%%#v of credentials: %s", got)
	}
}
