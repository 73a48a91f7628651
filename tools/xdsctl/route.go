package xdsctl

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/explain"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// routeFlags are the flags of the command route.
type routeFlags struct {
	source                    sourceFlags
	target, method, authority string
	headers                   []string
}

func (a *app) route() *cobra.Command {
	var f routeFlags
	c := &cobra.Command{
		Use:   "route --target TARGET --method /SERVICE/METHOD",
		Short: "Explain which route a call takes, and why",
		Long: `Route explains the way of a call: the Listener, the virtual host and its matching domain, each route that
the call passes over and why, the HTTP filters with their configuration after overrides, the cluster, and
its load balancing policy.

` + sourceHelp,
		Example: `  xdsctl route --target xds:///checkout --method /shop.Cart/Add --conn localhost:5555
  xdsctl route -target xds:///checkout -method /shop.Cart/Add -H user:42 --file config/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.runRoute(c.Context(), &f) },
	}
	c.Flags().StringVar(&f.target, "target", "", "the `target` of the channel, or the name of a Listener")
	c.Flags().StringVar(&f.method, "method", "", "the method, as `/service/method`")
	c.Flags().StringArrayVarP(&f.headers, "header", "H", nil, "a header of the call, as `name:value`; may be repeated")
	c.Flags().StringVar(&f.authority, "authority", "", "the data-plane `authority`; default: by the target")
	f.source.add(c)
	return c
}

// call returns the call of the flags.
func (f *routeFlags) call() (explain.Call, error) {
	call := explain.Call{Method: f.method, Authority: f.authority}
	if f.target == "" || f.method == "" {
		return call, fmt.Errorf("--target = %q and --method = %q; both must be set", f.target, f.method)
	}
	if !strings.HasPrefix(call.Method, "/") {
		call.Method = "/" + call.Method
	}
	if strings.Count(call.Method, "/") != 2 {
		return call, fmt.Errorf("--method = %q; must have the form /service/method", f.method)
	}
	if call.Authority == "" {
		call.Authority = authorityOf(f.target)
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || name == "" {
			return call, fmt.Errorf("--header = %q; must have the form name:value", h)
		}
		if call.Headers == nil {
			call.Headers = make(map[string][]string)
		}
		name = strings.ToLower(strings.TrimSpace(name))
		call.Headers[name] = append(call.Headers[name], strings.TrimSpace(value))
	}
	return call, nil
}

// authorityOf returns the data-plane authority of a channel: the path of its target.
func authorityOf(target string) string {
	rest, ok := strings.CutPrefix(target, "xds:")
	if !ok {
		return xdstp.EncodeAuthority(target)
	}
	if hier, ok := strings.CutPrefix(rest, "//"); ok {
		_, rest, _ = strings.Cut(hier, "/")
	}
	return xdstp.EncodeAuthority(strings.TrimPrefix(rest, "/"))
}

func (a *app) runRoute(ctx context.Context, f *routeFlags) error {
	call, err := f.call()
	if err != nil {
		return err
	}
	s, err := a.open(ctx, &f.source)
	if err != nil {
		return err
	}
	defer s.Close()
	s.inScope(f.target)
	_, name, err := s.rootOf(f.target)
	if err != nil {
		return err
	}
	e := explain.Explainer{
		Find: s.find, Viewer: s.viewer,
		Decode: func(e *world.Entry) (resource.Update, error) { return e.Decode(s.decoder) },
	}
	result, err := e.Explain(ctx, name, call)
	if err != nil {
		return err
	}
	p := a.printer()
	if err := p.Print(result, func() { printRoute(p, result) }); err != nil {
		return err
	}
	if result.Problem != "" {
		return &exitError{code: exitRejected}
	}
	return nil
}

// printRoute prints the way of a call.
func printRoute(p *output.Printer, r *explain.Result) {
	printResource(p, "", r.Listener)
	printResource(p, "", r.Routes)
	if h := r.VirtualHost; h != nil {
		name := cmp.Or(h.Name, fmt.Sprintf("%d (unnamed)", h.Number))
		fmt.Fprintf(p.W, "virtual host %s: domain %s serves the authority %s\n", p.Paint(output.Header, name),
			output.Escape(fmt.Sprintf("%q", h.Domain)), output.Escape(fmt.Sprintf("%q", r.Call.Authority)))
	}
	for _, s := range r.Steps {
		printStep(p, s)
	}
	for _, o := range r.Outcomes {
		printOutcome(p, o)
	}
	if r.Problem != "" {
		for _, l := range output.Wrap(output.Escape("the call fails: "+r.Problem), p.Width) {
			p.Println(output.Bad, "%s", l)
		}
	}
}

func printResource(p *output.Printer, indent string, r *explain.Resource) {
	if r == nil {
		return
	}
	line := indent + short(r.Type) + " " + p.Paint(output.Header, r.Name) + "  " + p.Paint(styleOf(r.State), r.State)
	if r.Version != "" {
		line += " " + output.Escape(r.Version)
	}
	if r.Inline {
		line += " (in the Listener)"
	}
	fmt.Fprintln(p.W, line)
	if r.Error != "" {
		for _, l := range output.Wrap(output.Escape(r.Error), p.Width-len(indent)-4) {
			fmt.Fprintln(p.W, indent+"    "+p.Paint(output.Bad, l))
		}
	}
}

func printStep(p *output.Printer, s explain.Step) {
	name := fmt.Sprintf("%d", s.Number)
	if s.Name != "" {
		name += " " + s.Name
	}
	line := fmt.Sprintf("  route %s (%s): ", output.Escape(name), output.Escape(s.Match))
	switch s.Verdict {
	case explain.Taken:
		line += p.Paint(output.Good, "taken")
	case explain.Share:
		line += p.Paint(output.Warn, "taken by "+explain.Percent(s.PerMillion))
	case explain.PassedOver:
		line += "passed over, " + output.Escape(s.Reason)
	default:
		line += p.Paint(output.Dim, s.Verdict)
	}
	fmt.Fprintln(p.W, line)
}

func printOutcome(p *output.Printer, o explain.Outcome) {
	p.Println(output.Header, "%s of the calls take route %d: %s", explain.Percent(o.PerMillion), o.Route, o.Action)
	p.Println(output.Plain, "  timeout: %s", o.Timeout)
	if o.Retry != "" {
		p.Println(output.Plain, "  retries: %s", o.Retry)
	}
	for _, h := range o.Hash {
		p.Println(output.Plain, "  hash of: %s", h)
	}
	for i := range o.Clusters {
		printCluster(p, "  ", &o.Clusters[i])
	}
}

func printCluster(p *output.Printer, indent string, c *explain.Cluster) {
	for _, f := range c.Filters {
		printFilter(p, indent, f)
	}
	if c.Type == "" {
		p.Println(output.Plain, "%splugin %s", indent, c.Name)
	} else {
		printResource(p, indent, &c.Resource)
	}
	if c.PerMillion > 0 {
		p.Println(output.Plain, "%s  takes %s of the calls", indent, explain.Percent(c.PerMillion))
	}
	if c.Discovery != "" {
		p.Println(output.Plain, "%s  discovery: %s", indent, c.Discovery)
	}
	if c.LBPolicy != "" {
		p.Println(output.Plain, "%s  lb policy: %s %s", indent, c.LBPolicy, c.LBConfig)
	}
	if c.MaxCalls > 0 {
		p.Println(output.Plain, "%s  at most %d calls at once; outlier detection: %t; TLS: %t", indent, c.MaxCalls, c.Outlier, c.TLS)
	}
	printResource(p, indent+"  ", c.Assignment)
	if c.Endpoints != "" {
		p.Println(output.Plain, "%s    %s", indent, c.Endpoints)
	}
	for i := range c.Leaves {
		printCluster(p, indent+"  ", &c.Leaves[i])
	}
}

func printFilter(p *output.Printer, indent string, f explain.Filter) {
	line := strings.TrimSuffix(fmt.Sprintf("%sfilter %s %s", indent, f.Name, short(f.Message)), " ")
	switch {
	case f.Off != "":
		p.Println(output.Dim, "%s: off, %s", line, f.Off)
		printResource(p, indent+"  ", f.Extension)
		return
	case f.OverriddenBy != "":
		line += ", overridden by " + f.OverriddenBy
	}
	p.Println(output.Plain, "%s", line)
	printResource(p, indent+"  ", f.Extension)
	config := f.Config
	if f.Override != nil {
		config = f.Override
	}
	if text, err := output.ToYAML(config); err == nil && config != nil {
		for l := range strings.Lines(text) {
			if !strings.HasPrefix(strings.TrimLeft(l, `'"`), "@type") {
				p.Println(output.Dim, "%s    %s", indent, strings.TrimSuffix(l, "\n"))
			}
		}
	}
}
