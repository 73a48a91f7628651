package xdsd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
	"github.com/xdsforge/xdsforge/plugins/runtimelayer"
	"github.com/xdsforge/xdsforge/plugins/scopedroute"
	"github.com/xdsforge/xdsforge/plugins/secret"
	"github.com/xdsforge/xdsforge/plugins/virtualhost"
	"github.com/xdsforge/xdsforge/registry"
)

// The exit codes.
const (
	exitOK          = 0
	exitUsage       = 1
	exitRejected    = 2
	exitUnreachable = 3
)

const usage = `xdsd serves resources by ADS.

  xdsd DIR                             serve the files of a folder
  xdsd -store etcd://HOST:PORT,…       serve a store in etcd
  xdsd -upstream BOOTSTRAP             relay the control planes of a bootstrap file

  xdsd publish -store URL DIR          put the resources of a folder into a store
  xdsd list -store URL                 list the resources of a store
  xdsd history -store URL              list the last commits
  xdsd rollback -store URL REVISION    return to the resources of a revision

  xdsd import -upstream BOOTSTRAP DIR  write the resources of a control plane to the files of a folder

xdsd COMMAND -h lists the flags. Exit codes: 0 success, 1 usage, 2 rejected resources or a conflict, 3 something is unreachable.
`

// Main runs the command with the arguments of the process, and ends the process. The functions register types and
// extensions of the program, as those of xdsforge.WithTypes do. The standard types and extensions are registered, too.
func Main(types ...func(xdsforge.Registrar)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, os.Args[1:], os.Stdout, os.Stderr, types...)
	stop()
	os.Exit(code)
}

// Run runs the command until it is done or ctx ends, and returns its exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, types ...func(xdsforge.Registrar)) int {
	a := &app{stdout: &syncWriter{w: stdout}, stderr: &syncWriter{w: stderr}}
	err := a.freeze(types)
	if err == nil {
		err = a.run(ctx, args)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	fail := &exitError{exitUsage, err}
	errors.As(err, &fail)
	if fail.err != nil {
		a.print("%v", fail.err)
	}
	return fail.code
}

// An exitError ends the command with a code. A nil error was reported already.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string { return fmt.Sprintf("exit code %d: %v", e.code, e.err) }

// Unwrap returns the cause.
func (e *exitError) Unwrap() error { return e.err }

// app is one run of the command.
type app struct {
	stdout, stderr io.Writer
	types          *resource.Set
}

// print writes a message for people. Every line is escaped.
func (a *app) print(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		fmt.Fprintln(a.stderr, "xdsd: "+printable.Text(line, printable.Whole))
	}
}

// freeze registers the types of the program and those of this module.
func (a *app) freeze(types []func(xdsforge.Registrar)) (err error) {
	r := registry.New()
	others := []func(xdsforge.Registrar){
		grpcxds.Register, extension.Register, lbendpoint.Register, runtimelayer.Register, scopedroute.Register, secret.Register, virtualhost.Register,
	}
	for _, register := range append(types, others...) {
		register(r)
	}
	a.types, err = r.Freeze()
	return err
}

func (a *app) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(a.stderr, usage)
		return &exitError{exitUsage, nil}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(a.stdout, usage)
		return nil
	case "publish":
		return a.publish(ctx, args[1:])
	case "list":
		return a.list(ctx, args[1:])
	case "history":
		return a.history(ctx, args[1:])
	case "rollback":
		return a.rollback(ctx, args[1:])
	case "import":
		return a.importTo(ctx, args[1:])
	}
	return a.serve(ctx, args)
}

// parse parses the flags of a command. It returns the arguments, of which there must be a number between min and max.
func (a *app) parse(f *flag.FlagSet, args []string, least, most int, what string) ([]string, error) {
	f.SetOutput(a.stderr)
	f.Usage = func() {
		fmt.Fprintf(a.stderr, "usage: xdsd %s [flags] %s\n", f.Name(), what)
		f.PrintDefaults()
	}
	var rest []string
	for { // flags may follow arguments
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, &exitError{exitUsage, nil} // flag has printed it
		}
		if args = f.Args(); len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	if len(rest) < least || len(rest) > most {
		return nil, fmt.Errorf("%d arguments; must be: xdsd %s [flags] %s", len(rest), f.Name(), what)
	}
	return rest, nil
}
