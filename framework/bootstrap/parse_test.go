package bootstrap

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestInvalid(t *testing.T) {
	type row struct {
		Why    string
		Good   bool // add a good server
		In     json.RawMessage
		Errors []string
	}
	for _, row := range load[row](t, "invalid.json") {
		t.Run(row.Why, func(t *testing.T) {
			in := string(row.In)
			if row.Good {
				in = `{"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}]}], ` + in[1:]
			}
			c, err := Parse([]byte(in))
			if c != nil {
				t.Errorf("a configuration beside an error: %v", c)
			}
			if got := messages(err); !slices.Equal(got, row.Errors) {
				t.Errorf("errors:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(row.Errors, "\n\t"))
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a configuration of credentials: %v", err)
			}
		})
	}
}

// messages returns each problem of a joined error.
func messages(err error) (list []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, err := range joined.Unwrap() {
		problem, ok := errors.AsType[*Error](err)
		if !ok {
			return append(list, "no *Error: "+err.Error())
		}
		list = append(list, problem.Error())
	}
	return list
}

func TestSyntaxErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "bootstrap: line 1, column 1 = a syntax error; must be JSON: unexpected end of JSON input",
		"{\n  \"xds_servers\": [,]\n}":   "bootstrap: line 2, column 19 = a syntax error; must be JSON: invalid character ','",
		"{\"ü\": 1,}":                    "bootstrap: line 1, column 9 = a syntax error; must be JSON: invalid character '}'",
		"{} {}":                          "bootstrap: line 1, column 4 = a syntax error; must be JSON: invalid character '{' after top-level value",
		"[\"test\": 123]":                "bootstrap: line 1, column 8 = a syntax error; must be JSON: invalid character ':'",
		"{\"node\": {\"id\": \"\xff\"}}": "bootstrap: invalid UTF-8; must be JSON",
	} {
		_, err := Parse([]byte(in))
		if got := messages(err); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("Parse(%q): %q\nwant %q", in, got, want)
		}
	}
	var syntax *json.SyntaxError
	if _, err := Parse([]byte("{")); !errors.As(err, &syntax) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestNodeErrors(t *testing.T) {
	const good = `"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}]}]`
	_, err := Parse([]byte(`{"node": {"id": 7}, ` + good + `}`))
	got := messages(err)
	if len(got) != 1 || !strings.HasPrefix(got[0], "bootstrap: node = an object; must be the JSON form of envoy.config.core.v3.Node: proto:") {
		t.Errorf("a node with a numeric id: %q", got)
	}
}

// TestNothingElseIsNeeded expects Parse to accept a file without optional fields, and with unknown
// ones.
func TestNothingElseIsNeeded(t *testing.T) {
	const good = `"server_uri": "u", "channel_creds": [{"type": "insecure"}]`
	for _, in := range []string{
		`{"xds_servers": [{` + good + `}]}`,
		`{"xds_servers": [{` + good + `}], "unknown": {"x": [1]}, "node": {"unknown": 1}}`,
		`{"xds_servers": [{` + good + `, "unknown": 1, "server_features": [1, null, true, {"a": []}, "unknown", ["xds_v3"]]}]}`,
		`{"xds_servers": [{` + good + `, "call_creds": null, "server_features": null}], "node": null, "authorities": null, "certificate_providers": null}`,
		`{"xds_servers": [{` + good + `, "call_creds": [{"type": "unknown"}]}], "server_listener_resource_name_template": null}`,
		`{"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "unknown", "config": null}, {"type": "tls", "config": {"unknown": 1}}]}]}`,
		`{"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}, {"type": "tls", "config": {"certificate_file": "only"}}]}]}`,
		`{"xds_servers": [{` + good + `}], "authorities": {"a,b": {"client_listener_resource_name_template": "xdstp://a%2cb/t/%s", "xds_servers": []}}}`,
		`{"authorities": {"a": {"xds_servers": [{` + good + `}]}}}`,
		`{"xds_servers": [{` + good + `}], "certificate_providers": {"a": {"plugin_name": "unknown"}}}`,
	} {
		if _, err := Parse([]byte(in)); err != nil {
			t.Errorf("Parse(%s): %v", in, err)
		}
	}
}

// TestConsequences expects a problem to hide the problems inside of the same value, and no others.
func TestConsequences(t *testing.T) {
	for _, tt := range []struct {
		first, then string
		hidden      bool
	}{
		{"node", "node", true},
		{"node", "node.id", true},
		{"xds_servers", "xds_servers[0]", true},
		{"xds_servers", "xds_servers[0].server_uri", true},
		{"xds_servers[1]", "xds_servers[1].server_uri", true},
		{"xds_servers[1]", "xds_servers[10]", false},
		{"node", "nodes", false},
		{"node.id", "node", false},
		{"", "node", true},
	} {
		p := &problems{}
		p.add(tt.first, "1", "must not be")
		p.add(tt.then, "2", "must not be")
		if got := len(p.list) == 1; got != tt.hidden {
			t.Errorf("beside a problem of %q, one of %q is hidden = %v", tt.first, tt.then, got)
		}
	}
}

func TestText(t *testing.T) {
	const limit = 96
	full := strings.Repeat("a", limit)
	for in, want := range map[string]string{
		full:                  `"` + full + `"`,
		full + "b":            `"` + full + `"…`,
		full[:limit-1] + "éb": `"` + full[:limit-1] + `"…`,
	} {
		if got := text(in); got != want {
			t.Errorf("text(%q) = %s, want %s", in, got, want)
		}
	}
}
