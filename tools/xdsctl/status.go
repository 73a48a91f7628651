package xdsctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// statusFlags are the flags of the command status.
type statusFlags struct {
	conn     connFlags
	typ      string
	failed   bool
	watch    bool
	interval time.Duration
	polls    int
}

// A processView is an xDS client in JSON and YAML.
type processView struct {
	Address   string      `json:"address"`
	Scope     string      `json:"scope,omitempty"`
	NodeID    string      `json:"node_id,omitempty"`
	UserAgent string      `json:"user_agent,omitempty"`
	Resources []entryView `json:"resources"`
}

func (a *app) status() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status ADDR...",
		Short: "Show the resources of running clients, and why one is rejected",
		Long: `Status asks processes for the state of their xDS clients by CSDS, and prints one line for each resource
and the reason of a rejection in full. Clients of any language answer: this module, grpc-go,
grpc-java, C++, and the languages on top of it. An address is that of the gRPC server with the admin
services.

The exit code is 2 if a resource is rejected or does not exist.`,
		Example: `  xdsctl status localhost:5555
  xdsctl status --failed -o json localhost:5555 localhost:5556
  xdsctl status --watch --scope xds:///checkout localhost:5555`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.runStatus(c.Context(), &f, args) },
	}
	f.conn.add(c)
	c.Flags().StringVar(&f.typ, "type", "", "show only resources of this `type`: lds, rds, cds, eds, or a full name")
	c.Flags().BoolVar(&f.failed, "failed", false, "show only resources that are rejected or do not exist")
	c.Flags().BoolVarP(&f.watch, "watch", "w", false, "ask again and again, and redraw the changes")
	c.Flags().DurationVar(&f.interval, "interval", 2*time.Second, "the `time` between two questions of --watch")
	c.Flags().IntVar(&f.polls, "polls", 0, "end --watch after this `number` of questions; 0: never")
	return c
}

func (a *app) runStatus(ctx context.Context, f *statusFlags, addrs []string) error {
	if f.watch && f.interval <= 0 {
		return fmt.Errorf("--interval = %s; must be positive", f.interval)
	}
	clients := make([]*world.Client, 0, len(addrs))
	defer func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}()
	for _, addr := range addrs {
		c, err := f.conn.dial(addr)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	if f.watch {
		return a.watchStatus(ctx, f, clients)
	}
	list, err := f.poll(ctx, clients)
	if printErr := a.printStatus(f, list, time.Now()); printErr != nil {
		return printErr
	}
	return errors.Join(err, failure(list))
}

// poll returns the clients of all processes. The error has the highest exit code.
func (f *statusFlags) poll(ctx context.Context, clients []*world.Client) ([]world.Process, error) {
	results, errs := make([][]world.Process, len(clients)), make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { results[i], errs[i] = f.conn.fetchOne(ctx, c, false) })
	}
	wg.Wait()
	var list []world.Process
	for _, r := range results {
		for _, p := range r {
			p.Entries = slices.DeleteFunc(p.Entries, func(e *world.Entry) bool {
				return f.typ != "" && e.Type != fullName(f.typ)
			})
			list = append(list, p)
		}
	}
	return list, worst(errs)
}

// worst joins errors, with the highest of their exit codes.
func worst(errs []error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	code := exitUsage
	for _, e := range errs {
		if exit, ok := errors.AsType[*exitError](e); ok {
			code = max(code, exit.code)
		}
	}
	return &exitError{code, err}
}

// failure returns an error if a resource is rejected or does not exist.
func failure(list []world.Process) error {
	for _, p := range list {
		if slices.ContainsFunc(p.Entries, (*world.Entry).Failed) {
			return &exitError{code: exitRejected}
		}
	}
	return nil
}

func (a *app) printStatus(f *statusFlags, list []world.Process, now time.Time) error {
	p := a.printer()
	views := make([]processView, 0, len(list))
	for _, c := range list {
		v := processView{Address: c.Address, Scope: c.Scope, NodeID: c.NodeID, UserAgent: c.Agent, Resources: []entryView{}}
		for _, e := range f.shown(c) {
			r := viewOf(e, now)
			r.Scope, r.Where = "", ""
			v.Resources = append(v.Resources, r)
		}
		views = append(views, v)
	}
	return p.Print(views, func() {
		for _, line := range f.lines(p, list, now) {
			fmt.Fprintln(p.W, line)
		}
	})
}

// shown returns the entries of a client that the flags select.
func (f *statusFlags) shown(c world.Process) world.Static {
	if !f.failed {
		return c.Entries
	}
	var list world.Static
	for _, e := range c.Entries {
		if e.Failed() {
			list = append(list, e)
		}
	}
	return list
}

// lines returns the table and the line below it.
func (f *statusFlags) lines(p *output.Printer, list []world.Process, now time.Time) []string {
	rows, counts := f.rows(list, now)
	lines := p.Lines([]string{"ADDRESS", "SCOPE", "TYPE", "NAME", "STATE", "VERSION", "AGE"}, rows)
	style := output.Good
	if counts.failed > 0 {
		style = output.Bad
	}
	return append(lines, p.Paint(style, fmt.Sprintf("%d clients, %d resources: %d accepted, %d requested, %d failed",
		len(list), counts.all, counts.accepted, counts.all-counts.accepted-counts.failed, counts.failed)))
}

type stateCounts struct{ all, accepted, failed int }

func (f *statusFlags) rows(list []world.Process, now time.Time) (rows []output.Row, counts stateCounts) {
	several := slices.ContainsFunc(list, func(p world.Process) bool { return p.Address != list[0].Address })
	for _, c := range list {
		for _, e := range c.Entries {
			counts.all++
			switch {
			case e.State == world.Acked:
				counts.accepted++
			case e.Failed():
				counts.failed++
			}
		}
		for _, e := range f.shown(c) {
			rows = append(rows, row(e, several, now))
		}
	}
	return rows, counts
}

// row returns the line of a resource, and its reason below.
func row(e *world.Entry, withAddress bool, now time.Time) output.Row {
	r := output.Row{Cells: []output.Cell{
		{Text: ""},
		{Text: e.Scope},
		{Text: short(e.Type)},
		{Text: e.Name},
		{Text: e.State, Style: styleOf(e.State)},
		{Text: e.Version},
		{Text: age(e.Updated, now)},
	}}
	if withAddress {
		r.Cells[0].Text = e.Where
	}
	if text := reason(e); text != "" {
		r.Notes = []output.Cell{{Text: text, Style: output.Bad}}
	}
	return r
}

// watchStatus asks again and again until ctx ends. On a terminal, it redraws the lines that changed.
// Otherwise it prints the resources that changed.
func (a *app) watchStatus(ctx context.Context, f *statusFlags, clients []*world.Client) error {
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	screen := newScreen(a.printer())
	for n := 1; ; n++ {
		list, err := f.poll(ctx, clients)
		if ctx.Err() != nil {
			return nil
		}
		screen.show(f, list, err, time.Now())
		if n == f.polls {
			return errors.Join(err, failure(list))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
