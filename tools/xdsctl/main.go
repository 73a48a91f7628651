package xdsctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/configfile"
	_ "github.com/xdsforge/xdsforge/tools/xdsctl/internal/envoy" // the messages of Envoy
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
)

// The exit codes.
const (
	exitOK          = 0
	exitUsage       = 1
	exitRejected    = 2
	exitUnreachable = 3
)

// Main runs the command with the arguments of the process, and ends the process. The functions
// register types and extensions of the program, as those of xdsforge.WithTypes do. The standard types
// and extensions are registered, too.
func Main(types ...func(xdsforge.Registrar)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, types...)
	stop()
	os.Exit(code)
}

// Run runs the command, and returns its exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, types ...func(xdsforge.Registrar)) int {
	a := &app{types: types, stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root() //nolint:contextcheck // each command has that of ExecuteContext
	root.SetArgs(longFlags(root, args))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err}
	}
	if exit.err != nil {
		fmt.Fprintln(stderr, "xdsctl: "+printableLines(exit.err.Error()))
	}
	return exit.code
}

// printableLines escapes text for a terminal, but for its line breaks.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = output.Escape(l)
	}
	return strings.Join(lines, "\n")
}

// An exitError ends the command with a code. A nil error was reported already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func rejected(format string, args ...any) error {
	return &exitError{exitRejected, fmt.Errorf(format, args...)}
}

func unreachable(format string, args ...any) error {
	return &exitError{exitUnreachable, fmt.Errorf(format, args...)}
}

// app is one run of the command.
type app struct {
	types          []func(xdsforge.Registrar)
	stdin          io.Reader
	stdout, stderr io.Writer

	format, color, profile string
	width                  int
	sets                   []string
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "xdsctl",
		Short: "Look into xDS clients, check resources, and explain routes",
		Long: `xdsctl answers the questions of those who operate xDS: why a resource was rejected, whether a file
would be accepted, which route a call takes, and which load balancing policy runs.

It reads the status of any gRPC client that serves CSDS, files of resources, and control planes.
Flags may have one dash or two.`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.check() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	f := root.PersistentFlags()
	f.StringVarP(&a.format, "output", "o", "table", "`form` of the output: table, json or yaml")
	f.StringVar(&a.color, "color", "auto", "`when` to use colours: auto, always or never; auto heeds NO_COLOR")
	f.IntVar(&a.width, "width", 0, "wrap texts at this `number` of characters; default: the terminal's width")
	f.StringArrayVar(&a.sets, "descriptor-set", nil, "read messages from a FileDescriptorSet in `file`; may be repeated")
	f.StringVar(&a.profile, "profile", "grpc", "validate as `client`: grpc or envoy")
	f.SortFlags = false
	root.AddCommand(a.commands()...)
	return root
}

func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{a.status(), a.get(), a.tree(), a.diff(), a.bootstrap(), a.name(), a.route(), a.watch(), a.record(), a.replay(), a.validate(), a.man()}
}

// check checks the flags that all commands share.
func (a *app) check() error {
	switch {
	case a.format != "table" && a.format != "json" && a.format != "yaml":
		return fmt.Errorf("--output = %q; must be table, json or yaml", a.format)
	case a.color != "auto" && a.color != "always" && a.color != "never":
		return fmt.Errorf("--color = %q; must be auto, always or never", a.color)
	case a.width < 0:
		return fmt.Errorf("--width = %d; must not be negative", a.width)
	}
	_, err := a.clientProfile()
	return err
}

func (a *app) clientProfile() (xdsforge.Profile, error) {
	switch a.profile {
	case "grpc":
		return xdsforge.GRPC, nil
	case "envoy":
		return xdsforge.Envoy, nil
	}
	return xdsforge.GRPC, fmt.Errorf("--profile = %q; must be grpc or envoy", a.profile)
}

// printer returns the printer of results.
func (a *app) printer() *output.Printer {
	p := &output.Printer{W: a.stdout, Format: output.Format(a.format), Width: a.width, Color: a.color == "always"}
	if f, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		width, height, _ := term.GetSize(int(f.Fd()))
		p.Terminal, p.Height = true, height
		if p.Width == 0 {
			p.Width = width
		}
		p.Color = p.Color || a.color == "auto" && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return p
}

// messages returns the messages that the command can read.
func (a *app) messages() (*configfile.Types, error) { return configfile.NewTypes(a.sets...) }

// longFlags gives long flags a second dash if they have one.
func longFlags(root *cobra.Command, args []string) []string {
	known := make(map[string]bool)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		add := func(f *pflag.Flag) { known[f.Name] = true }
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(root)
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if len(name) > 1 && strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && known[name] {
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}
