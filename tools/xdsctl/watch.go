package xdsctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/capture"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// clientFlags are the flags of commands that are a client of their own.
type clientFlags struct {
	bootstrap     string
	delta, sotw   bool
	follow, quiet bool
	once          bool
	limit         time.Duration
}

func (f *clientFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.bootstrap, "bootstrap", "", "the bootstrap `file`; default: that of the environment")
	c.Flags().BoolVar(&f.delta, "delta", false, "use the incremental variant of ADS with all control planes")
	c.Flags().BoolVar(&f.sotw, "sotw", false, "use the state of the world with all control planes")
	c.Flags().BoolVar(&f.follow, "follow", false, "also watch the resources that resources refer to")
	c.Flags().BoolVar(&f.once, "once", false, "end when each resource has a result")
	c.Flags().DurationVar(&f.limit, "for", 0, "end after this `time`; 0: never")
}

const namesHelp = `A name is a target such as xds:///checkout, the name of a Listener, a resource as TYPE/NAME, or all
resources of a type as TYPE/*.`

func (a *app) watch() *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use:   "watch NAME...",
		Short: "Watch resources as a client of their control planes",
		Long: `Watch is a client of its own. It prints the updates that a program would get, and the messages of the
protocol: requests, responses with version, nonce and control plane, ACKs, and NACKs with their reasons.

` + namesHelp + `

The exit code is that of the last state: 2 if a resource is rejected or does not exist, 3 if a control
plane cannot be reached.`,
		Example: `  xdsctl watch --bootstrap bootstrap.json --follow xds:///checkout
  xdsctl watch --delta --once cds/checkout
  xdsctl watch --quiet -o json 'cds/*'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w, err := a.newWatcher(&f)
			if err != nil {
				return err
			}
			return w.run(c.Context(), args)
		},
	}
	f.add(c)
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "do not print messages of the protocol")
	return c
}

// A watcher watches resources with a client of its own.
type watcher struct {
	flags   *clientFlags
	printer *output.Printer
	client  *xdsforge.Client
	source  source // names targets
	closers []io.Closer
	report  func(capture.Message) // nil: none

	mu     sync.Mutex
	states map[resourceKey]error // of each watch
	open   int                   // watches without a result
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func (a *app) newWatcher(f *clientFlags) (*watcher, error) {
	if f.delta && f.sotw {
		return nil, errors.New("--delta and --sotw; give only one of them")
	}
	config, spec, _, err := readBootstrap(f.bootstrap)
	if err != nil {
		return nil, err
	}
	if f.delta || f.sotw {
		if config, err = variant(spec, f.delta); err != nil {
			return nil, rejected("%w", err)
		}
	}
	profile, err := a.clientProfile()
	if err != nil {
		return nil, err
	}
	w := &watcher{flags: f, printer: a.printer(), source: source{boot: config}, states: make(map[resourceKey]error)}
	inner := grpctransport.New()
	tap := &capture.Transport{Inner: inner, Started: time.Now(), Report: w.message}
	w.client, err = xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(a.registered()), xdsforge.WithProfile(profile),
		xdsforge.WithTransport(tap), xdsforge.WithClientName("xdsctl"), xdsforge.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, w.client)
	return w, nil
}

// The features that choose the variant of ADS.
const (
	featureDelta = "xds.transport.delta"
	featureAuto  = "xds.transport.auto"
)

// variant returns the bootstrap with one variant of ADS for all servers.
func variant(spec bootstrap.Spec, delta bool) (*bootstrap.Config, error) {
	set := func(list []bootstrap.ServerSpec) {
		for i := range list {
			var features []any
			for _, x := range list[i].Features {
				if x != featureDelta && x != featureAuto {
					features = append(features, x)
				}
			}
			if delta {
				features = append(features, featureDelta)
			}
			list[i].Features = features
		}
	}
	set(spec.Servers)
	for _, authority := range spec.Authorities {
		set(authority.Servers)
	}
	return bootstrap.New(spec)
}

// run watches resources until ctx ends, the time is over, or each has a result if that is enough.
func (w *watcher) run(ctx context.Context, names []string) error {
	ctx, w.cancel = context.WithCancel(ctx)
	defer w.cancel()
	if w.flags.limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, w.flags.limit)
		defer stop()
	}
	defer func() {
		w.wg.Wait()
		for _, c := range w.closers {
			_ = c.Close()
		}
	}()
	for _, name := range names {
		typ, name, err := w.source.rootOf(name)
		if err == nil {
			err = w.start(ctx, typ, name)
		}
		if err != nil {
			w.cancel()
			return err
		}
	}
	<-ctx.Done()
	w.wg.Wait()
	return w.outcome()
}

// outcome returns the exit code of the last states.
func (w *watcher) outcome() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	code := exitOK
	for _, err := range w.states {
		switch {
		case errors.Is(err, resource.ErrTransport):
			code = max(code, exitUnreachable)
		case err != nil && !errors.Is(err, errNoResult):
			code = max(code, exitRejected)
		}
	}
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// errNoResult is the state of a resource before the first event.
var errNoResult = errors.New("no result yet")

// start watches a resource, once.
func (w *watcher) start(ctx context.Context, typ, name string) error {
	t, err := resource.Find(w.client, typ)
	if err != nil {
		return err
	}
	k := resourceKey{typ, name}
	w.mu.Lock()
	_, known := w.states[k]
	if !known {
		w.states[k] = errNoResult
		w.open++
	}
	w.mu.Unlock()
	if known {
		return nil
	}
	w.wg.Go(func() {
		if name == resource.Wildcard || strings.HasSuffix(name, "/*") {
			for ev := range t.WatchCollection(ctx, w.client, name) {
				if ev.Update != nil || ev.Err != nil {
					w.event(ctx, resourceKey{typ, ev.Name.String()}, ev.Event)
				}
				if ev.Synced || ev.Err != nil && ev.Name.IsZero() {
					w.result(k, ev.Err)
				}
			}
			return
		}
		for ev := range t.Watch(ctx, w.client, name) {
			w.event(ctx, k, ev)
			w.result(k, ev.Err)
		}
	})
	return nil
}

// result records the state of a watch. It ends the command when all have one, if that is enough.
func (w *watcher) result(k resourceKey, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.states[k], errNoResult) {
		w.open--
	}
	w.states[k] = err
	if w.open == 0 && w.flags.once {
		w.cancel()
	}
}

// A watchLine is a line of the command watch in JSON.
type watchLine struct {
	Time    time.Time       `json:"time"`
	Kind    string          `json:"kind"`
	Type    string          `json:"type,omitempty"`
	Name    string          `json:"name,omitempty"`
	Version string          `json:"version,omitempty"`
	Server  string          `json:"server,omitempty"`
	State   string          `json:"state,omitempty"`
	Text    string          `json:"text,omitempty"`
	Error   string          `json:"error,omitempty"`
	Update  json.RawMessage `json:"update,omitempty"`
}

// event prints an event of a resource, and watches its references.
func (w *watcher) event(ctx context.Context, k resourceKey, ev resource.Event[resource.Update]) {
	l := watchLine{Time: time.Now(), Kind: "update", Type: k.typ, Name: k.name, State: world.StateOf(ev.Err)}
	style := output.Good
	switch err := errors.Join(ev.Err, ev.Ambient); {
	case ev.Err != nil:
		l.Kind, l.Error, style = "error", err.Error(), output.Bad
	case ev.Ambient != nil:
		l.Kind, l.Error, style = "ambient error", err.Error(), output.Warn
	}
	if u := ev.Update; u != nil {
		l.Version = u.Version()
		l.Text = fmt.Sprint(u)
		l.Update, _ = json.Marshal(u)
		if s := u.Server(); s != nil {
			l.Server = s.URI()
		}
		if w.flags.follow {
			for r := range u.Refs() {
				if err := w.start(ctx, r.Type, r.Name.String()); err != nil {
					l.Error = strings.TrimPrefix(l.Error+"; "+err.Error(), "; ")
				}
			}
		}
	}
	w.print(l, style)
}

// message prints a message of the protocol.
func (w *watcher) message(m capture.Message) {
	if w.report != nil {
		w.report(m)
	}
	if w.flags.quiet {
		return
	}
	l := watchLine{Time: time.Now(), Kind: string(m.Kind), Server: m.Server, Text: capture.Describe(m)}
	style := output.Dim
	if strings.HasPrefix(l.Text, "NACK") || m.Error != "" {
		style = output.Bad
	}
	w.print(l, style)
}

func (w *watcher) print(l watchLine, style output.Style) {
	p := w.printer
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.Format != output.Table {
		text, err := json.Marshal(l)
		if err == nil && p.Format == output.YAML {
			var yaml string
			yaml, err = output.ToYAML(json.RawMessage(text))
			text = []byte("---\n" + strings.TrimSuffix(yaml, "\n"))
		}
		if err == nil {
			fmt.Fprintf(p.W, "%s\n", text)
		}
		return
	}
	line := l.Time.Format("15:04:05.000") + " "
	switch l.Kind {
	case string(capture.Sent):
		line += "-> " + l.Server + ": " + l.Text
	case string(capture.Received), string(capture.Opened), string(capture.Closed):
		line += "<- " + l.Server + ": " + l.Text
	default:
		line += fmt.Sprintf("%s of %s %q", l.Kind, short(l.Type), l.Name)
		if l.Version != "" {
			line += " version " + l.Version
		}
		if l.Error != "" {
			line += ": " + l.Error
		} else {
			line += ": " + l.Text
		}
	}
	p.Println(style, "%s", line)
}
