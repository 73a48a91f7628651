package xdsd

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/tlsfiles"
	"github.com/xdsforge/xdsforge/internal/webguard"
	"github.com/xdsforge/xdsforge/serve"
)

// serveFlags are the flags of the daemon.
type serveFlags struct {
	listen, http, store, upstream string
	cert, key, clientCA           string
	permissions                   string
	stateDir, stateKey            string
	stateSecret                   []byte // the content of stateKey
	authorities                   authorityFlag
	hosts, peers                  listFlag
	staleness, drain, coalesce    time.Duration
	answer                        time.Duration
	load                          time.Duration
	limits                        limitsFlag
	check, strict                 bool
}

// An authorityFlag is a flag such as "-authority NAME=SOURCE", which may be repeated.
type authorityFlag map[string]string

// String implements [flag.Value].
func (authorityFlag) String() string { return "" }

// Set implements [flag.Value].
func (f authorityFlag) Set(s string) error {
	name, spec, ok := strings.Cut(s, "=")
	if _, twice := f[name]; !ok || name == "" || spec == "" || twice {
		return errors.New("must be NAME=SOURCE, once for each name")
	}
	f[name] = spec
	return nil
}

// A listFlag is a flag with texts that commas separate.
type listFlag []string

// String implements [flag.Value].
func (f *listFlag) String() string { return strings.Join(*f, ",") }

// Set implements [flag.Value].
func (f *listFlag) Set(s string) error {
	*f = strings.Split(s, ",")
	if slices.Contains(*f, "") {
		return errors.New("must be texts with commas between them")
	}
	return nil
}

func (f *serveFlags) parse(a *app, args []string) error {
	f.authorities = make(authorityFlag)
	s := flag.NewFlagSet("", flag.ContinueOnError)
	s.StringVar(&f.listen, "listen", "127.0.0.1:18000", "serve at this `address`; port 0 chooses a free one")
	s.StringVar(&f.http, "http", "", "serve /healthz, /readyz, /status and a page with the status at this `address`")
	s.Var(&f.hosts, "http-hosts", "the `names` besides IP addresses and localhost under which browsers, and -peers of other daemons, reach -http: NAME,NAME…")
	s.StringVar(&f.store, "store", "", "serve the store at this `URL`: etcd://HOST:PORT,…/TENANT")
	s.StringVar(&f.upstream, "upstream", "", "relay the control planes of this bootstrap `file`")
	s.Var(f.authorities, "authority", "serve the names of an authority from another source, as `NAME=SOURCE`: a folder, etcd://… or upstream:FILE; may be repeated")
	s.Var(&f.peers, "peers", "compare the resources of stores with those of the daemons at these `URLs` of -http: http://HOST:PORT,…")
	s.StringVar(&f.cert, "cert", "", "serve with TLS, with the certificate in this PEM `file`")
	s.StringVar(&f.key, "key", "", "the key of -cert, a PEM `file`")
	s.StringVar(&f.clientCA, "client-ca", "", "demand certificates of clients, which the certificates in this PEM `file` have signed")
	s.StringVar(&f.permissions, "permissions", "", "restrict clients to types and authorities by this JSON `file`")
	s.StringVar(&f.stateDir, "state-dir", "", "keep the resources in this `directory`, to start while the sources cannot be reached")
	s.StringVar(&f.stateKey, "state-key", "", "encrypt -state-dir with the content of this `file`, at least 16 random bytes; without it, secrets are not kept")
	s.DurationVar(&f.answer, "answer-timeout", 10*time.Second, "give a name an error if its source does not answer for this `time`")
	s.DurationVar(&f.staleness, "max-staleness", 0, "end streams if a source is stale for longer than this `time`; 0 serves for ever")
	s.DurationVar(&f.coalesce, "coalesce", 0, "send changes to each client at most once in this `time`; 0 sends each at once")
	s.DurationVar(&f.load, "load", 0, "serve the load reporting service (LRS), whose clients report at this `interval`, and report the sums to the control plane of -upstream; 0 does not serve it")
	s.Var(&f.limits, "limit", "set a limit of clients, as `NAME=VALUE` with a name of the errors, such as ClientBytes=1GiB or Names=200000; may be repeated; names: "+strings.Join(f.limits.names(), ", "))
	s.DurationVar(&f.drain, "drain", 0, "at the end, spread the end of streams over this `time`")
	s.BoolVar(&f.check, "check", false, "only check the files of the folder; exit code 2 if one is rejected")
	s.BoolVar(&f.strict, "strict", false, "do not start if a file of a folder is rejected")
	rest, err := a.parse(s, args, 0, 1, "[DIR]")
	if err != nil {
		return err
	}
	var given []string
	if len(rest) > 0 {
		given = append(given, rest[0])
	}
	if f.store != "" {
		given = append(given, f.store)
	}
	if f.upstream != "" {
		given = append(given, upstreamPrefix+f.upstream)
	}
	switch {
	case len(given) > 1:
		return fmt.Errorf("sources = %q; must be one of DIR, -store and -upstream; use -authority for others", given)
	case len(given) == 0 && len(f.authorities) == 0:
		return errors.New("no source; must be DIR, -store, -upstream or -authority")
	case f.stateKey != "" && f.stateDir == "":
		return errors.New("-state-key; must be used with -state-dir")
	case f.check && len(rest) == 0:
		return errors.New("-check; must be used with DIR")
	case len(given) == 1:
		f.authorities[""] = given[0]
	}
	if f.strict && len(f.folders()) == 0 {
		return errors.New("-strict; must be used with a folder")
	}
	if f.stateKey != "" {
		f.stateSecret, err = os.ReadFile(f.stateKey)
	}
	return err
}

// folders returns the folders among the sources, in their order.
func (f *serveFlags) folders() (list []string) {
	for _, spec := range f.authorities {
		if !strings.HasPrefix(spec, upstreamPrefix) && !strings.Contains(spec, "://") {
			list = append(list, spec)
		}
	}
	slices.Sort(list)
	return list
}

// serve serves until ctx ends.
func (a *app) serve(ctx context.Context, args []string) error {
	var f serveFlags
	if err := f.parse(a, args); err != nil {
		return err
	}
	if f.check {
		resources, err := a.readDir(ctx, f.authorities[""])
		if err == nil {
			fmt.Fprintf(a.stdout, "%d resources are accepted\n", len(resources))
		}
		return err
	}
	if f.strict {
		for _, dir := range f.folders() {
			if _, err := a.readDir(ctx, dir); err != nil {
				return err
			}
		}
	}
	options, err := f.serverOptions(a)
	if err != nil {
		return err
	}
	peers, err := parsePeers(f.peers)
	if err != nil {
		return err
	}
	sources, origins := make(map[string]source.Source), []*origin(nil)
	defer func() {
		for _, o := range origins {
			o.close()
		}
	}()
	for authority, spec := range f.authorities {
		o, err := a.open(authority, spec, &f) //nolint:contextcheck // a source ends with Close
		if err != nil {
			return err
		}
		origins, sources[authority] = append(origins, o), o.source
	}
	serverOptions, err := f.options(a, origins)
	if err != nil {
		return err
	}
	s, err := serve.New(a.types, sources, serverOptions...) //nolint:contextcheck // a server ends with Close
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // nothing is left to fail
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for _, o := range origins {
		if _, err := o.source.Open(ctx, stateSink{o, a}); err != nil {
			return err
		}
		if o.dir != nil {
			group.Go(func() { a.printProblems(ctx, o.dir) })
		}
	}
	d := newDrift(a, origins)
	for _, peer := range peers {
		group.Go(func() { d.follow(ctx, peer) })
	}
	defer d.client.CloseIdleConnections()
	return a.listen(ctx, &f, s, d, options)
}

// listen serves at the addresses of the flags until ctx ends.
func (a *app) listen(ctx context.Context, f *serveFlags, s *serve.Server, d *drift, options []grpc.ServerOption) error {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return &exitError{exitUnreachable, err}
	}
	g := grpc.NewServer(options...)
	s.Register(g) //nolint:contextcheck // streams have contexts of their own
	s.RegisterHealth(g)
	failed := make(chan error, 2)
	go func() { failed <- g.Serve(lis) }()
	defer func() {
		drainCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.drain)
		defer cancel()
		if f.drain > 0 {
			_ = s.Drain(drainCtx, f.drain) // the rest ends below
		}
		g.Stop()
	}()
	if f.http != "" {
		h := webguard.NewServer(a.handler(s, d.origins, f.hosts, d))
		httpLis, err := new(net.ListenConfig).Listen(ctx, "tcp", f.http)
		if err != nil {
			return &exitError{exitUnreachable, err}
		}
		go func() { failed <- h.Serve(httpLis) }()
		defer func() { _ = h.Close() }() // nothing is left to be sent
		fmt.Fprintf(a.stdout, "status at http://%s/status\n", httpLis.Addr())
	}
	if host, _, _ := net.SplitHostPort(lis.Addr().String()); f.cert == "" && !net.ParseIP(host).IsLoopback() {
		a.print("without -cert and -client-ca, everybody who reaches %s can read the resources", lis.Addr())
	}
	fmt.Fprintf(a.stdout, "serving at %s\n", lis.Addr())
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return &exitError{exitUnreachable, err}
	}
}

// options returns the options of the ADS server.
func (f *serveFlags) options(a *app, origins []*origin) ([]serve.Option, error) {
	options := []serve.Option{serve.WithLogger(a.logger()), serve.WithAnswerTimeout(f.answer), serve.WithLimits(f.limits.limits)}
	if f.stateDir != "" {
		options = append(options, serve.WithStateDir(filepath.Join(f.stateDir, "serve"), f.stateSecret))
	}
	if f.staleness != 0 {
		options = append(options, serve.WithMaxStaleness(f.staleness))
	}
	if f.coalesce != 0 {
		options = append(options, serve.WithCoalesce(f.coalesce))
	}
	if f.load != 0 {
		options = append(options, serve.WithLoad(f.load, reporterOf(origins)))
	}
	if f.permissions != "" {
		list, err := readPermissions(f.permissions)
		if err != nil {
			return nil, fmt.Errorf("-permissions: %s: %w", f.permissions, err)
		}
		options = append(options, serve.WithPermissions(list...))
	}
	return options, nil
}

// reporterOf returns the function for load reports: that of the relay of the main source, or nil.
func reporterOf(origins []*origin) func(serve.LoadReport) {
	for _, o := range origins {
		if o.authority == "" && o.relay != nil {
			return o.relay.AddLoad
		}
	}
	return nil
}

// Limits of connections of clients, which gRPC allows 16 MiB of headers and two minutes.
const (
	maxHeaders    = 64 << 10
	handshakeTime = 20 * time.Second
)

// serverOptions returns the options of the gRPC server. Each handshake uses the newest valid files.
func (f *serveFlags) serverOptions(a *app) ([]grpc.ServerOption, error) {
	options := append(serve.ServerOptions(), grpc.MaxHeaderListSize(maxHeaders), grpc.ConnectionTimeout(handshakeTime))
	options = append(options, f.limits.server()...)
	if f.cert == "" && f.key == "" && f.clientCA == "" {
		return options, nil
	}
	if f.cert == "" || f.key == "" {
		return nil, errors.New("-cert and -key; must be set together, and with -client-ca")
	}
	files, err := tlsfiles.Open(tlsfiles.Files{Certificate: f.cert, Key: f.key, CA: f.clientCA}, func(err error) {
		a.print("files of TLS cannot be used; the last valid ones stay in use: %v", err)
	})
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		m := files.Current()
		now := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: m.Certificates, NextProtos: []string{"h2"}}
		if m.CA != nil {
			now.ClientCAs, now.ClientAuth = m.CA, tls.RequireAndVerifyClientCert
		}
		return now, nil
	}}
	return append(options, grpc.Creds(credentials.NewTLS(c))), nil
}
