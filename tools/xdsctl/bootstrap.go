package xdsctl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
)

// A bootstrapView is an effective bootstrap.
type bootstrapView struct {
	Source                 string                   `json:"source"`
	Node                   json.RawMessage          `json:"node,omitempty"`
	Federation             bool                     `json:"federation"`
	ClientListenerTemplate string                   `json:"client_default_listener_resource_name_template"`
	ServerListenerTemplate string                   `json:"server_listener_resource_name_template,omitempty"`
	Servers                []serverView             `json:"xds_servers,omitempty"`
	Authorities            map[string]authorityView `json:"authorities,omitempty"`
	CertificateProviders   map[string]providerView  `json:"certificate_providers,omitempty"`
}

type serverView struct {
	URI          string      `json:"server_uri"`
	ChannelCreds credsView   `json:"channel_creds"`
	CallCreds    []credsView `json:"call_creds,omitempty"`
	Features     []string    `json:"server_features,omitempty"`
}

type credsView struct {
	Type   string `json:"type"`
	Config any    `json:"config,omitempty"`
}

type authorityView struct {
	ClientListenerTemplate string       `json:"client_listener_resource_name_template"`
	Servers                []serverView `json:"xds_servers"`
}

type providerView struct {
	PluginName string `json:"plugin_name"`
	Config     any    `json:"config,omitempty"`
}

func (a *app) bootstrap() *cobra.Command {
	return &cobra.Command{
		Use:   "bootstrap [FILE]",
		Short: "Print the bootstrap that a client uses",
		Long: `Bootstrap prints the effective bootstrap of a file, or of the environment. It fills in the defaults, shows
the credentials that a client chooses of each list, and the servers of each authority. It hides values
that may be secrets.`,
		Example: `  xdsctl bootstrap
  xdsctl bootstrap bootstrap.json -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			return a.runBootstrap(path)
		},
	}
}

// readBootstrap returns the bootstrap of a file or of the environment, its fields, and its source.
func readBootstrap(path string) (*bootstrap.Config, bootstrap.Spec, string, error) {
	config, err := loadBootstrap(path, true)
	if err != nil {
		return nil, bootstrap.Spec{}, "", err
	}
	source := cmp.Or(path, os.Getenv(bootstrap.EnvFile))
	data := []byte(os.Getenv(bootstrap.EnvContent))
	if source != "" {
		if data, err = os.ReadFile(source); err != nil { //nolint:gosec // the user names the file
			return nil, bootstrap.Spec{}, "", rejected("%w", err)
		}
	}
	var spec bootstrap.Spec
	if err := json.Unmarshal(data, &spec); err != nil {
		return nil, spec, "", rejected("%w", err)
	}
	return config, spec, cmp.Or(source, "$"+bootstrap.EnvContent), nil
}

func (a *app) runBootstrap(path string) error {
	config, spec, source, err := readBootstrap(path)
	if err != nil {
		return err
	}
	node, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(config.Node())
	if err != nil {
		return err
	}
	v := bootstrapView{
		Source: source, Node: node, Federation: config.Federation(),
		ClientListenerTemplate: cmp.Or(spec.ClientDefaultListenerTemplate, defaultTemplate),
		ServerListenerTemplate: spec.ServerListenerTemplate, Servers: serverViews(config.Servers()),
	}
	for _, name := range config.Authorities() {
		authority, _ := config.Authority(name)
		if v.Authorities == nil {
			v.Authorities = make(map[string]authorityView)
		}
		v.Authorities[name] = authorityView{authority.ClientListenerTemplate, serverViews(authority.Servers)}
	}
	for name, c := range config.CertificateProviders() {
		if v.CertificateProviders == nil {
			v.CertificateProviders = make(map[string]providerView)
		}
		v.CertificateProviders[name] = providerView{c.PluginName, withoutSecrets(c.Config)}
	}
	p := a.printer()
	if p.Format == output.Table {
		p.Format = output.YAML
	}
	return p.Print(v, nil)
}

func serverViews(list []*bootstrap.Server) []serverView {
	views := make([]serverView, len(list))
	for i, s := range list {
		views[i] = serverView{URI: s.URI(), ChannelCreds: credsViewOf(s.ChannelCreds()), Features: s.Features()}
		for _, c := range s.CallCreds() {
			views[i].CallCreds = append(views[i].CallCreds, credsViewOf(c))
		}
	}
	return views
}

func credsViewOf(c bootstrap.Creds) credsView {
	return credsView{Type: c.Type(), Config: withoutSecrets(c.Config())}
}

// shownSettings are the names of settings that are no secrets: paths of files, and times.
func shownSettings() map[string]bool {
	return map[string]bool{
		"certificate_file": true, "private_key_file": true, "ca_certificate_file": true, "refresh_interval": true,
		"spiffe_trust_bundle_map_file": true, "jwt_token_file": true,
	}
}

// withoutSecrets returns a configuration in which all values are hidden but those of known settings.
func withoutSecrets(config json.RawMessage) any {
	if len(config) == 0 {
		return nil
	}
	var fields map[string]any
	if json.Unmarshal(config, &fields) != nil {
		return "[hidden]"
	}
	for name := range fields {
		if !shownSettings()[name] {
			fields[name] = "[hidden]"
		}
	}
	return fields
}

// defaultTemplate is the template for targets without an authority if the bootstrap has none (gRFC
// A47).
const defaultTemplate = "%s"

// A nameView is the Listener of a target, and the rule that made its name.
type nameView struct {
	Target   string   `json:"target"`
	Name     string   `json:"name"`
	Setting  string   `json:"setting"`
	Template string   `json:"template"`
	Default  bool     `json:"template_is_default"`
	Servers  []string `json:"servers,omitempty"`
	Error    string   `json:"error,omitempty"`
}

func (a *app) name() *cobra.Command {
	var path string
	var server bool
	c := &cobra.Command{
		Use:   "name TARGET...",
		Short: "Show the name of a target's Listener, and the rule that makes it",
		Long: `Name makes the name of the Listener of a target by a bootstrap (gRFC A47), and prints the template that
it used and the control planes that are asked for it. With --server, the arguments are addresses that
gRPC servers listen on.`,
		Example: `  xdsctl name xds:///checkout
  xdsctl name xds://east.example/checkout --bootstrap bootstrap.json
  xdsctl name --server 0.0.0.0:8080`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.runName(path, server, args) },
	}
	c.Flags().StringVar(&path, "bootstrap", "", "the bootstrap `file`; default: that of the environment")
	c.Flags().BoolVar(&server, "server", false, "the arguments are addresses of gRPC servers")
	return c
}

func (a *app) runName(path string, server bool, targets []string) error {
	config, spec, _, err := readBootstrap(path)
	if err != nil {
		return err
	}
	views := make([]nameView, len(targets))
	failed := false
	for i, target := range targets {
		v := nameView{Target: target}
		var n xdstp.Name
		if server {
			v.Setting, v.Template = "server_listener_resource_name_template", spec.ServerListenerTemplate
			n, err = config.ServerListenerName(target)
		} else {
			v.rule(config, spec, target)
			n, err = config.ClientListenerName(target)
		}
		v.Name = n.String()
		if err == nil {
			var list []*bootstrap.Server
			list, err = config.ServersFor(n)
			for _, s := range list {
				v.Servers = append(v.Servers, s.URI())
			}
		}
		if err != nil {
			v.Error, failed = err.Error(), true
		}
		views[i] = v
	}
	p := a.printer()
	if err := p.Print(views, func() { printNames(p, views) }); err != nil {
		return err
	}
	if failed {
		return &exitError{code: exitRejected}
	}
	return nil
}

// rule sets the template that applies to a target.
func (v *nameView) rule(config *bootstrap.Config, spec bootstrap.Spec, target string) {
	_, rest, _ := strings.Cut(target, "://")
	authority, _, _ := strings.Cut(rest, "/")
	if authority == "" {
		v.Setting = "client_default_listener_resource_name_template"
		v.Template, v.Default = cmp.Or(spec.ClientDefaultListenerTemplate, defaultTemplate), spec.ClientDefaultListenerTemplate == ""
		return
	}
	v.Setting = fmt.Sprintf("authorities[%q].client_listener_resource_name_template", authority)
	if known, ok := config.Authority(authority); ok {
		v.Template, v.Default = known.ClientListenerTemplate, spec.Authorities[authority].ClientListenerTemplate == ""
	}
}

func printNames(p *output.Printer, views []nameView) {
	for _, v := range views {
		p.Println(output.Header, "%s", cmp.Or(v.Name, v.Target))
		rule := fmt.Sprintf("    by %s = %q", v.Setting, v.Template)
		if v.Default {
			rule += ", the default"
		}
		p.Println(output.Plain, "%s", rule)
		if len(v.Servers) > 0 {
			p.Println(output.Plain, "    from %s", strings.Join(v.Servers, ", then "))
		}
		if v.Error != "" {
			p.Println(output.Bad, "    %s", v.Error)
		}
	}
}
