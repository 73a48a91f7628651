package xdsctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/offline"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/protoview"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// sourceFlags are the flags of commands that read resources from a process, from files, or from a
// control plane.
type sourceFlags struct {
	conn    connFlags
	files   fileFlags
	addr    string
	paths   []string
	secrets bool
}

const sourceHelp = `The resources are those of a running process (--conn), of files (--file), or of the control planes
of a bootstrap (--bootstrap). With --conn or --file, a bootstrap only names the Listener of a target.
Without any of these, the bootstrap is that of the environment: GRPC_XDS_BOOTSTRAP or
GRPC_XDS_BOOTSTRAP_CONFIG.`

func (f *sourceFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.addr, "conn", "", "read the resources of the process at this `address`, by CSDS")
	c.Flags().StringArrayVarP(&f.paths, "file", "f", nil, "read the resources of a `file` or folder; may be repeated")
	f.files.add(c)
	c.Flags().Lookup("bootstrap").Usage = "read from the control planes of a bootstrap `file`"
	f.conn.add(c)
	c.Flags().BoolVar(&f.secrets, "show-secrets", false, "show fields that are marked as sensitive")
}

// A source is an open world, with the decoder of its resources.
type source struct {
	world.World
	decoder *offline.Decoder
	viewer  *protoview.Viewer
	boot    *bootstrap.Config // nil: none
	entries world.Static      // nil: those of a control plane are not known
}

// open opens the source of the flags.
func (a *app) open(ctx context.Context, f *sourceFlags) (*source, error) {
	types, err := a.messages()
	if err != nil {
		return nil, err
	}
	s := new(source)
	if s.viewer, err = protoview.New(types, f.secrets); err != nil {
		return nil, err
	}
	live := f.addr == "" && len(f.paths) == 0
	if f.addr != "" && len(f.paths) > 0 {
		return nil, errors.New("--conn and --file; give only one of them")
	}
	if s.boot, err = loadBootstrap(f.files.bootstrap, live); err != nil {
		return nil, err
	}
	profile, err := a.clientProfile()
	if err != nil {
		return nil, err
	}
	if s.decoder, err = offline.New(profile, s.boot, a.registered()); err != nil {
		return nil, err
	}
	switch {
	case f.addr != "":
		list, err := f.conn.process(ctx, f.addr)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			s.entries = append(s.entries, p.Entries...)
		}
		s.World = s.entries
	case len(f.paths) > 0:
		if s.entries, err = a.entries(&f.files, f.paths); err != nil {
			return nil, err
		}
		s.World = s.entries
	default:
		return s, a.connect(s, f, profile)
	}
	return s, nil
}

// connect makes the source a client of the control planes of its bootstrap.
func (a *app) connect(s *source, f *sourceFlags, profile xdsforge.Profile) error {
	c, err := xdsforge.New(xdsforge.WithBootstrap(s.boot), xdsforge.WithTypes(a.registered()), xdsforge.WithProfile(profile),
		xdsforge.WithClientName("xdsctl"), xdsforge.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		return err
	}
	s.World = &world.Live{Client: c, Timeout: cmp.Or(f.conn.timeout, planeTimeout)}
	return nil
}

// loadBootstrap returns the bootstrap of a file or, if one is needed, of the environment.
func loadBootstrap(path string, needed bool) (*bootstrap.Config, error) {
	var config *bootstrap.Config
	var err error
	switch {
	case path != "":
		config, err = bootstrap.LoadFile(path)
	case needed:
		config, err = bootstrap.Load()
		if errors.Is(err, bootstrap.ErrNotConfigured) {
			return nil, fmt.Errorf("no source; give --conn, --file or --bootstrap, or set %s", bootstrap.EnvFile)
		}
	}
	if err != nil {
		return nil, rejected("%w", err)
	}
	return config, nil
}

// entries returns the resources of files. It fails if a file cannot be read as text.
func (a *app) entries(f *fileFlags, paths []string) (world.Static, error) {
	l, err := a.loader(f)
	if err != nil {
		return nil, err
	}
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	all, err := l.load(files)
	if err != nil {
		return nil, err
	}
	list := world.Static{}
	for i := range all {
		r := &all[i]
		if r.typ == bootstrapType {
			continue
		}
		line, column := r.item.Position("")
		at := problem{File: r.file, Line: line, Column: column}
		e := &world.Entry{Type: r.typ, Name: r.name, Version: r.version, State: world.Acked, Where: at.position(), Content: r.item.Resource}
		if r.failed() {
			e.State, e.Error = world.Nacked, r.errors()
			e.Content, e.Rejected = nil, e.Content
		}
		if r.update != nil {
			e.Decoded(r.update, nil)
		}
		list = append(list, e)
	}
	list.Sort()
	return list, nil
}

// errors returns the errors of a resource as text.
func (r *loaded) errors() string {
	var texts []string
	for i := range r.problems {
		if p := &r.problems[i]; p.Severity == severityError {
			texts = append(texts, p.position()+": "+p.text())
		}
	}
	return strings.Join(texts, "; ")
}

// rootOf returns the Listener of a target, or a resource that the argument names as TYPE/NAME.
func (s *source) rootOf(target string) (typ, name string, err error) {
	typ = listener.Type().Name()
	if n, err := xdstp.Parse(target); err == nil && n.IsXdstp() {
		return n.Type(), n.String(), nil
	}
	if !strings.HasPrefix(target, "xds:") {
		if t, n, ok := strings.Cut(target, "/"); ok && aliases()[strings.ToLower(t)] != "" {
			return fullName(t), n, nil
		}
		return typ, target, nil
	}
	for _, e := range s.entries {
		if e.Scope == target && e.Type == typ {
			return typ, e.Name, nil
		}
	}
	boot := s.boot
	if boot == nil {
		boot, err = bootstrap.New(bootstrap.Spec{Servers: []bootstrap.ServerSpec{{URI: "unused", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}}}})
		if err != nil {
			return "", "", err
		}
	}
	n, err := boot.ClientListenerName(target)
	if err != nil {
		return "", "", fmt.Errorf("%w; a bootstrap with the authority can be given by --bootstrap", err)
	}
	return typ, n.String(), nil
}

// rootsOf returns the roots of a tree: that of rootOf or, for the scope of a client without a target,
// all resources of the client that no other one refers to.
func (s *source) rootsOf(target string) ([]resourceKey, error) {
	scoped := s.inScope(target)
	if !scoped || strings.HasPrefix(target, "xds:") {
		typ, name, err := s.rootOf(target)
		return []resourceKey{{typ, name}}, err
	}
	referred := make(map[resourceKey]bool)
	for _, e := range s.entries {
		if u, _ := e.Decode(s.decoder); u != nil {
			for r := range u.Refs() {
				referred[resourceKey{r.Type, r.Name.String()}] = true
			}
		}
	}
	var roots []resourceKey
	for _, e := range s.entries {
		if k := (resourceKey{e.Type, e.Name}); !referred[k] {
			roots = append(roots, k)
		}
	}
	return roots, nil
}

// inScope limits the entries to those of the client with a scope, if there is one.
func (s *source) inScope(scope string) bool {
	of := slices.DeleteFunc(slices.Clone(s.entries), func(e *world.Entry) bool { return e.Scope != scope })
	if len(of) == 0 {
		return false
	}
	s.entries, s.World = of, of
	return true
}

// find returns a resource of the source. One that is not there has the state DOES_NOT_EXIST.
func (s *source) find(ctx context.Context, typ, name string) (*world.Entry, error) {
	if n, err := s.decoder.ParseName(name); err == nil {
		name = n.String()
	}
	e, err := s.Lookup(ctx, typ, name)
	switch {
	case err != nil:
		return nil, unreachable("%w", err)
	case e == nil:
		return &world.Entry{Type: typ, Name: name, State: world.DoesNotExist, Error: s.missing(typ)}, nil
	}
	return e, nil
}

// missing says which resources of a type there are.
func (s *source) missing(typ string) string {
	var names []string
	for _, e := range s.entries {
		if e.Type == typ && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	const most = 10
	switch {
	case len(names) == 0:
		return "it is not there; there is no resource of this type"
	case len(names) > most:
		return fmt.Sprintf("it is not there; there are %q and %d more", names[:most], len(names)-most)
	}
	return fmt.Sprintf("it is not there; there are %q", names)
}

// isFile reports whether an argument names a file or folder.
func isFile(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil || arg == "-"
}
