package bootstrap

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func load[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return rows
}

func mustParse(t testing.TB, content string, opts ...Option) *Config {
	t.Helper()
	c, err := Parse([]byte(content), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func uris(servers []*Server) (list []string) {
	for _, s := range servers {
		list = append(list, s.URI())
	}
	return list
}

// nameRow is a target or an address with the expected resource name.
type nameRow struct {
	Target, Address string
	Name            string
	Servers         []string
	Unknown         string // an authority for which ServersFor returns nothing
	Error           string // how the error begins
}

// TestListenerNames has all worked examples of gRFC A47.
func TestListenerNames(t *testing.T) {
	type row struct {
		Why       string
		Off       bool
		Bootstrap json.RawMessage
		Clients   []nameRow
		Listeners []nameRow
	}
	for _, row := range load[row](t, "a47.json") {
		t.Run(row.Why, func(t *testing.T) {
			c := mustParse(t, string(row.Bootstrap), WithFederation(!row.Off))
			for _, r := range row.Clients {
				n, err := c.ClientListenerName(r.Target)
				checkName(t, c, "target "+r.Target, r, n, err)
			}
			for _, r := range row.Listeners {
				n, err := c.ServerListenerName(r.Address)
				checkName(t, c, "address "+r.Address, r, n, err)
			}
		})
	}
}

func checkName(t *testing.T, c *Config, what string, want nameRow, n xdstp.Name, err error) {
	t.Helper()
	if want.Error != "" {
		if err == nil || !strings.HasPrefix(err.Error(), want.Error) || !n.IsZero() {
			t.Errorf("%s: %q, %v; want %s…", what, n, err, want.Error)
		}
		return
	}
	if err != nil || n.String() != want.Name || n.IsXdstp() != (c.Federation() && strings.HasPrefix(want.Name, "xdstp:")) {
		t.Errorf("%s: %q, %v; want %q", what, n, err, want.Name)
		return
	}
	servers, err := c.ServersFor(n)
	var unknown *unknownAuthorityError
	switch {
	case want.Unknown != "":
		if !errors.As(err, &unknown) || !errors.Is(err, ErrUnknownAuthority) || unknown.Authority != want.Unknown {
			t.Errorf("%s: ServersFor: %v; want the authority %q to be unknown", what, err, want.Unknown)
		}
	case err != nil || !slices.Equal(uris(servers), want.Servers):
		t.Errorf("%s: ServersFor = %q, %v; want %q", what, uris(servers), err, want.Servers)
	}
}

func TestServersFor(t *testing.T) {
	c := mustParse(t, `{"authorities": {
		"east": {"xds_servers": [{"server_uri": "e1", "channel_creds": [{"type": "insecure"}]}, {"server_uri": "e2", "channel_creds": [{"type": "insecure"}]}]},
		"": {"xds_servers": [{"server_uri": "n", "channel_creds": [{"type": "insecure"}]}]},
		"a/b": {"xds_servers": [{"server_uri": "ab", "channel_creds": [{"type": "insecure"}]}]}
	}}`)
	for name, want := range map[string][]string{
		"xdstp://east/t/i":  {"e1", "e2"},
		"xdstp:///t/i":      {"n"},
		"xdstp://a%2fb/t/i": {"ab"},
	} {
		n, err := c.ParseName(name)
		if err != nil {
			t.Fatal(err)
		}
		if servers, err := c.ServersFor(n); err != nil || !slices.Equal(uris(servers), want) {
			t.Errorf("ServersFor(%q) = %q, %v; want %q", name, uris(servers), err, want)
		}
	}
	old, err := c.ParseName("old")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ServersFor(old); !errors.Is(err, ErrNoServers) {
		t.Errorf("ServersFor of an old-style name: %v", err)
	}
	if _, err := c.ServersFor(xdstp.Name{}); err == nil || errors.Is(err, ErrNoServers) {
		t.Errorf("ServersFor of the zero Name: %v", err)
	}
	if _, err := c.ServerListenerName("0.0.0.0:1"); !errors.Is(err, ErrNoServerTemplate) {
		t.Errorf("ServerListenerName without a template: %v", err)
	}
}

func TestParseName(t *testing.T) {
	const servers = `{"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}]}]}`
	const s = "xdstp://a/t/i?b=1&a=2"
	n, err := mustParse(t, servers).ParseName(s)
	if err != nil || n.String() != "xdstp://a/t/i?a=2&b=1" || !n.IsXdstp() {
		t.Errorf("with federation: %q, %v", n, err)
	}
	off := mustParse(t, servers, WithFederation(false))
	n, err = off.ParseName(s)
	if err != nil || n.String() != s || n.IsXdstp() {
		t.Errorf("without federation: %q, %v", n, err)
	}
	if got, err := off.ServersFor(n); err != nil || !slices.Equal(uris(got), []string{"u"}) {
		t.Errorf("without federation: ServersFor = %v, %v", got, err)
	}
	if _, err := off.ParseName(""); err == nil {
		t.Error("the empty name is accepted")
	}
}
