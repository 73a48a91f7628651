package main

import (
	"strings"
	"testing"
)

// judgeRow is a row together with its parts that a test changes to make a peer differ.
type judgeRow struct {
	why, row string
	parts    []string // how the differences begin
}

func checkJudge(t *testing.T, judge func([]byte) (verdict, error), rows []judgeRow) {
	t.Helper()
	for _, tt := range rows {
		v, err := judge([]byte(tt.row))
		if err != nil || len(v.differences) != len(tt.parts) {
			t.Errorf("%s: %q, %v; want %q", tt.why, v.differences, err, tt.parts)
			continue
		}
		for i, part := range tt.parts {
			if !strings.HasPrefix(v.differences[i], part) {
				t.Errorf("%s: %q, want %q", tt.why, v.differences[i], part)
			}
		}
	}
}

func TestJudgeName(t *testing.T) {
	checkJudge(t, judge(judgeName), []judgeRow{
		{"all parts agree", `{"input": "xdstp://e%2Ff/t/x%3Fy?k=v", "want_ok": true, "want_name": "xdstp://e%2Ff/t/x%3Fy?k=v", "is_xdstp": true, "kind": "urn",
			"parts": {"authority": "e/f", "type": "t", "id": "x?y", "context_params": {"k": "v"}}}`, nil},
		{
			"all parts differ", `{"input": "xdstp://e/t/i?k=v", "want_ok": true, "want_name": "xdstp://e/t/i", "is_xdstp": false, "kind": "glob",
			"parts": {"authority": "f", "type": "u", "id": "j", "context_params": {}}}`,
			[]string{"name: ", "is_xdstp: ", "authority: ", "type: ", "id: ", `params: the peer returns {}, we return {"k":"v"}`, "is a glob: "},
		},
		{"a list collection", `{"input": "xdstp://e/tCollection/i", "want_ok": true, "want_name": "xdstp://e/tCollection/i", "kind": "list_collection"}`, nil},
		{
			"directives", `{"input": "xdstp://e/t/i#entry=a,alt=xdstp://f/u/j", "want_ok": true, "want_name": "xdstp://e/t/i", "kind": "urn",
			"parts": {"authority": "e", "type": "t", "id": "i", "fragment": "entry=a,alt=xdstp://f/u/j", "directives": [{"entry": "b"}, {"alt": {"authority": "f", "type": "u", "id": "k"}}]}}`,
			[]string{"entry: ", "alt id: ", "is a URN: "},
		},
		{"an alternative is missing", `{"input": "xdstp://e/t/i", "want_ok": true, "want_name": "xdstp://e/t/i",
			"parts": {"authority": "e", "type": "t", "id": "i", "directives": [{"alt": {}}]}}`, []string{"alternates: the peer returns 1, we return 0"}},
		{"the type is asked for", `{"input": "xdstp://e/t/i", "expect_resource_type": "u", "want_ok": true}`, []string{"valid: the peer returns true, we return false: xdstp: type"}},
		{"a glob", `{"input": "xdstp://e/t/a/i", "glob": "xdstp://e/t/*", "glob_matches": true, "want_ok": true, "want_name": "xdstp://e/t/a/i"}`, []string{"glob_matches: "}},
		{"both find it invalid", `{"input": "", "want_ok": false}`, nil},
	})
}

func TestJudgeTemplate(t *testing.T) {
	const servers = `"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "insecure"}]}]`
	checkJudge(t, judge(judgeTemplate), []judgeRow{
		{"encoding", `{"suite": "template", "input": "a b", "want_ok": true, "want_name": "a%20b"}`, nil},
		{"expanding", `{"suite": "template", "input": {"template": "xdstp:%s", "target": "["}, "want_ok": true, "want_name": "["}`, []string{`name: the peer returns "[", we return "xdstp:%5B"`}},
		{"a target", `{"suite": "xds_resolver", "input": {"client_default_listener_resource_name_template": "x/%s", "dial_target": "xds:a"}, "want_ok": true, "want_name": "x/a"}`, nil},
		{"a target with an authority", `{"suite": "xds_resolver", "input": {"dial_target": "xds://e/a", "extra_authority": "e"}, "want_ok": true, "want_name": "xdstp://e/envoy.config.listener.v3.Listener/a"}`, nil},
		{"a target with a bad bootstrap", `{"suite": "xds_resolver", "input": {"client_default_listener_resource_name_template": "xdstp:", "dial_target": "xds:a"}, "want_ok": false}`, nil},
		{"a client", `{"suite": "a47_templates", "role": "client", "bootstrap": {` + servers + `}, "input": "xds:a", "want_ok": true, "want_name": "b"}`, []string{"name: "}},
		{"a server", `{"suite": "a47_templates", "role": "server", "bootstrap": {` + servers + `}, "input": "1.2.3.4:5", "want_ok": false}`, nil},
		{"a server without an authority", `{"suite": "a47_templates", "role": "server", "bootstrap": {"server_listener_resource_name_template": "xdstp://e/t/%s", ` + servers + `}, "input": "1.2.3.4:5", "want_ok": true}`, []string{"valid: "}},
		{"a bad bootstrap", `{"suite": "a47_templates", "role": "server", "bootstrap": {}, "input": "1.2.3.4:5", "want_ok": true}`, []string{"valid: "}},
	})
	if _, err := judge(judgeTemplate)([]byte(`{"suite": "x"}`)); err == nil {
		t.Error("an unknown suite is accepted")
	}
}

func TestJudgeBootstrap(t *testing.T) {
	const (
		server = `{\"server_uri\": \"u\", \"channel_creds\": [{\"type\": \"tls\"}], \"server_features\": [\"xds_v3\"]}`
		whole  = `{\"xds_servers\": [` + server + `], \"authorities\": {\"e\": {}}, \"node\": {\"id\": \"n\", \"locality\": {}}, \"certificate_providers\": {\"p\": {\"plugin_name\": \"q\"}}}`
		parsed = `{"xds_servers": [{"server_uri": "u", "channel_creds": [{"type": "tls", "config": {}}], "server_features": ["xds_v3"]}], "authorities": {"e": {}}, "certificate_providers": {"p": {"plugin_name": "q"}}}`
	)
	checkJudge(t, judge(judgeBootstrap), []judgeRow{
		{"a server agrees", `{"fragment": "xds_servers[i]", "input": "` + server + `", "want_ok": true, "server_uri": "u", "selected_channel_creds": "tls", "num_selected_call_creds": 0, "server_features": ["xds_v3"]}`, nil},
		{
			"a server differs", `{"fragment": "xds_servers[i]", "input": "` + server + `", "want_ok": true, "server_uri": "v", "selected_channel_creds": "insecure", "num_selected_call_creds": 1, "server_features": []}`,
			[]string{"server_uri: ", "channel_creds: ", "call_creds: ", "server_features: "},
		},
		{"a server is invalid", `{"fragment": "xds_servers[i]", "input": "{}", "want_ok": false}`, nil},
		{"a file agrees", `{"input": "` + whole + `", "want_ok": true, "client_default_listener_resource_name_template": "%s", "cert_provider_instances": ["p"],
			"authority_templates": {"e": "xdstp://e/envoy.config.listener.v3.Listener/%s"}, "node_proto_json": {"id": "n", "userAgentName": "x", "clientFeatures": ["y"]}, "parsed": ` + parsed + `}`, nil},
		{
			"a file differs", `{"input": "` + whole + `", "want_ok": true, "client_default_listener_resource_name_template": "x", "cert_provider_instances": ["r"],
			"authority_templates": {}, "node_proto_json": {"id": "m"}, "parsed": ` + strings.NewReplacer(`"xds_v3"`, ``, `"q"`, `"r"`).Replace(parsed) + `}`,
			[]string{"result of client_default", "authority templates: ", "certificate provider r: ", "node: ", "parsed: ", "parsed servers: ", "parsed servers of e: ", "parsed certificate providers: "},
		},
		{"a file is invalid", `{"input": "{", "want_ok": true}`, []string{"valid: the peer returns true, we return false: bootstrap: line 1"}},
		{"what the peer writes is invalid", `{"input": "` + whole + `", "want_ok": true, "parsed": {}}`, []string{"valid: "}},
	})
	for _, row := range []string{`{"fragment": "x"}`, `{"input": 1}`, `{"input": "` + whole + `", "want_ok": true, "node_proto_json": {"id": 1}}`} {
		if _, err := judge(judgeBootstrap)([]byte(row)); err == nil {
			t.Errorf("%s is accepted", row)
		}
	}
}
