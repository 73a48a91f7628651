package xdsctl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/capture"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
)

func (a *app) record() *cobra.Command {
	var f clientFlags
	var listen string
	c := &cobra.Command{
		Use:   "record FILE [NAME...]",
		Short: "Record a session with control planes to a file",
		Long: `Record writes the messages of ADS to a file, for the command replay. With names, it is a client that
watches them. With --listen, it passes on the session of another program to the first control plane of
the bootstrap; the program's own bootstrap has that address as its server_uri, with the credentials
insecure.

The file has one message a line, as JSON. It contains all resources, with their secrets.

` + namesHelp,
		Example: `  xdsctl record session.jsonl --bootstrap bootstrap.json --follow --for 1m xds:///checkout
  xdsctl record session.jsonl --bootstrap bootstrap.json --listen 127.0.0.1:18000`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if (listen == "") == (len(args) == 1) {
				return errors.New("give either names or --listen")
			}
			return a.runRecord(c.Context(), &f, listen, args[0], args[1:])
		},
	}
	f.add(c)
	c.Flags().StringVar(&listen, "listen", "", "serve other programs at this `address`")
	return c
}

func (a *app) runRecord(ctx context.Context, f *clientFlags, listen, path string, names []string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	started := time.Now()
	out, err := capture.NewWriter(file, started)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Err()) }()
	if listen != "" {
		return a.proxy(ctx, f, listen, started, out)
	}
	w, err := a.newWatcher(f)
	if err != nil {
		return err
	}
	w.report = out.Write
	return w.run(ctx, names)
}

// proxy records the sessions of other programs until ctx ends.
func (a *app) proxy(ctx context.Context, f *clientFlags, listen string, started time.Time, out *capture.Writer) error {
	config, _, _, err := readBootstrap(f.bootstrap)
	if err != nil {
		return err
	}
	servers := config.Servers()
	if len(servers) == 0 {
		return rejected("the bootstrap has no xds_servers")
	}
	if f.limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, f.limit)
		defer stop()
	}
	p := a.printer()
	tap := &capture.Transport{Inner: grpctransport.New(), Started: started, Report: func(m capture.Message) {
		out.Write(m)
		logMessage(p, m)
	}}
	upstream, err := tap.Dial(servers[0])
	if err != nil {
		return err
	}
	defer upstream.Close()
	lis, err := a.listen(ctx, listen)
	if err != nil {
		return err
	}
	proxy := &capture.Proxy{Upstream: upstream}
	defer proxy.Wait()
	return capture.Serve(ctx, lis, proxy.Handle)
}

// listen listens on an address, and prints it.
func (a *app) listen(ctx context.Context, addr string) (net.Listener, error) {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--listen = %q; %w", addr, err)
	}
	fmt.Fprintf(a.stdout, "serving at %s\n", lis.Addr())
	return lis, nil
}

// logMessage prints a message of the protocol.
func logMessage(p *output.Printer, m capture.Message) {
	arrow := "<-"
	if m.Kind == capture.Sent {
		arrow = "->"
	}
	p.Println(output.Dim, "%8.3f %s %s: %s", m.Seconds, arrow, m.Server, capture.Describe(m))
}

func (a *app) replay() *cobra.Command {
	var listen, server string
	var timing bool
	var limit time.Duration
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Serve a recorded session as a control plane",
		Long: `Replay is a control plane that sends the responses of a recording, byte by byte. Each stream gets the
responses of a type in their order: the next one when it has answered the last one, and has asked for a
name that this response or a later one is the answer to. The bootstrap of the program under test has the
address of --listen as its server_uri, with the credentials insecure.`,
		Example: `  xdsctl replay session.jsonl --listen 127.0.0.1:18000`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if limit > 0 {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, limit)
				defer stop()
			}
			return a.runReplay(ctx, args[0], listen, server, timing)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:18000", "serve at this `address`")
	c.Flags().StringVar(&server, "server", "", "the `URI` of the control plane, if the recording has several")
	c.Flags().BoolVar(&timing, "timing", false, "send responses at the times of the recording, and not as soon as possible")
	c.Flags().DurationVar(&limit, "for", 0, "end after this `time`; 0: never")
	return c
}

func (a *app) runReplay(ctx context.Context, path, listen, server string, timing bool) error {
	file, err := os.Open(path)
	if err != nil {
		return rejected("%w", err)
	}
	list, err := capture.Read(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return rejected("%s: %w", path, err)
	}
	r, err := capture.NewReplay(list, server)
	if err != nil {
		return rejected("%s: %w", path, err)
	}
	p := a.printer()
	r.Timing = timing
	r.Log = func(text string) { p.Println(output.Dim, "%s", text) }
	lis, err := a.listen(ctx, listen)
	if err != nil {
		return err
	}
	return capture.Serve(ctx, lis, r.Handle)
}
