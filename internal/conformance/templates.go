package main

import (
	"encoding/json"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// templateRow is a row of resource_templates, of one of three suites.
type templateRow struct {
	Suite     string
	Func      string
	Role      string
	Input     json.RawMessage
	Bootstrap json.RawMessage
	WantOK    bool   `json:"want_ok"`
	WantName  string `json:"want_name"`
}

func judgeTemplate(v *verdict, row templateRow) error {
	var got string
	var err error
	switch row.Suite {
	case "template":
		got, err = expandTemplate(row)
	case "xds_resolver":
		got, err = resolveTarget(row)
	case "a47_templates":
		got, err = nameListener(row)
	default:
		return fmt.Errorf("unknown suite %q", row.Suite)
	}
	if v.compareOK(row.WantOK, err) {
		v.compare("name", row.WantName, got)
	}
	return nil
}

func expandTemplate(row templateRow) (string, error) {
	var text string
	if json.Unmarshal(row.Input, &text) == nil {
		return xdstp.EncodePath(text), nil
	}
	var input struct{ Template, Target string }
	err := json.Unmarshal(row.Input, &input)
	return xdstp.Expand(input.Template, input.Target), err
}

func resolveTarget(row templateRow) (string, error) {
	var input struct {
		Template  string `json:"client_default_listener_resource_name_template"`
		Target    string `json:"dial_target"`
		Authority string `json:"extra_authority"`
	}
	if err := json.Unmarshal(row.Input, &input); err != nil {
		return "", err
	}
	spec := bootstrap.Spec{
		ClientDefaultListenerTemplate: input.Template,
		Servers: []bootstrap.ServerSpec{{
			URI:          "unused.example:443",
			ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}},
		}},
	}
	if input.Authority != "" {
		spec.Authorities = map[string]bootstrap.AuthoritySpec{input.Authority: {}}
	}
	config, err := bootstrap.New(spec, bootstrap.WithFederation(true))
	if err != nil {
		return "", err
	}
	n, err := config.ClientListenerName(input.Target)
	return n.String(), err
}

func nameListener(row templateRow) (string, error) {
	config, err := bootstrap.Parse(row.Bootstrap, bootstrap.WithFederation(true))
	if err != nil {
		return "", err
	}
	var input string
	if err := json.Unmarshal(row.Input, &input); err != nil {
		return "", err
	}
	var n xdstp.Name
	if row.Role == "server" {
		n, err = config.ServerListenerName(input)
	} else {
		n, err = config.ClientListenerName(input)
	}
	if err == nil {
		_, err = config.ServersFor(n)
	}
	return n.String(), err
}
