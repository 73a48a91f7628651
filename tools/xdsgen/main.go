// Command xdsgen generates the Go code of xDS resource types from their
// descriptors.
//
//	xdsgen [-descriptor_set file.binpb] [-format text|json] resource.yaml...
//	xdsgen -check [-descriptor_set file.binpb] [-format text|json] [folder | folder/...]...
//	xdsgen new [-descriptor_set file.binpb] [-go import/path] message [folder]
//	xdsgen explain [-descriptor_set file.binpb] [-format text|json] resource.yaml...
//	xdsgen schema
//
// The first form writes the generated files beside each descriptor. If any descriptor
// has an error, it writes nothing. It deletes generated files that the descriptor no
// longer produces. It never changes a file without the header of generated code. If
// such a file is in the way, it writes nothing. It prints the missing hooks with
// their signatures.
//
// The second form writes nothing. It generates every resource.yaml in the given
// folders, and below those that end in "/...". The default is "./...". It prints a
// unified diff of the files that differ. It also lists missing and orphaned files,
// including orphans without a descriptor.
//
// Each package has one line that runs the first form:
//
//	//go:generate go tool xdsgen resource.yaml
//
// # Start a package and explain a descriptor
//
// xdsgen new starts a package for the message with the given full name, in the
// given folder or the current one. It writes a descriptor with every field of the
// message as a comment, a file for hooks, a doc.go with the line above, a test and a
// test case. The new package generates and passes its tests. The command replaces no
// file. -go sets the Go package of the message, if it does not follow from its name.
//
// xdsgen explain describes the generated code: every field with its Go type and
// source path, the rules, and the hooks that must be written.
//
// xdsgen schema prints the JSON Schema of descriptors, for editors.
//
// # Messages
//
// xdsgen reads protobuf messages from the Go packages that the descriptor's module
// can import. It needs only the Go toolchain, and no network if the modules are in
// the cache.
//
//	-descriptor_set file   take messages from an encoded FileDescriptorSet as
//	                       `protoc --include_imports -o file` writes it; may be
//	                       given more than once
//
// # Diagnostics
//
// xdsgen reports all errors at once on standard error, one per line:
//
//	plugins/cluster/resource.yaml:14:9: unknown field "service_nam" in Cluster.EdsClusterConfig (did you mean "service_name"?) [XG012]
//
//	-format json           print a JSON array of objects with file, line, column,
//	                       code, message and, if there is one, hint
//
// # Exit codes
//
//	0  success: the code was generated, or -check found no difference
//	1  a descriptor has an error, or -check found a difference
//	2  wrong usage, or a file or the Go toolchain cannot be used
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"

	"github.com/xdsforge/xdsforge/gen"
)

// The exit codes.
const (
	exitOK    = 0
	exitWrong = 1
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// A command runs one mode. It reports whether the check succeeded.
type command func(o *options, ctx context.Context, stdout io.Writer) (bool, error)

// options are the command line options.
type options struct {
	command command
	format  string
	goPath  string
	sets    []string
	args    []string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	same, err := o.command(o, ctx, stdout)
	var faults gen.DiagnosticsError
	switch {
	case errors.As(err, &faults):
		o.report(stderr, faults)
		return exitWrong
	case err != nil:
		fmt.Fprintln(stderr, "xdsgen:", err)
		return exitUsage
	case !same:
		return exitWrong
	}
	return exitOK
}

const usage = `usage: xdsgen [flags] resource.yaml...
       xdsgen -check [flags] [folder | folder/...]...
       xdsgen new [flags] message [folder]
       xdsgen explain [flags] resource.yaml...
       xdsgen schema
`

// A mode is one use of the command.
type mode struct {
	run         command
	least, most int // arguments
}

// modes are the modes by the word that stands first, or the flag.
func modes() map[string]mode {
	return map[string]mode{
		"":        {(*options).generate, 1, math.MaxInt},
		"-check":  {(*options).compare, 0, math.MaxInt},
		"new":     {(*options).scaffold, 1, 2},
		"explain": {(*options).explain, 1, math.MaxInt},
		"schema":  {(*options).schema, 0, 0},
	}
}

func parseArgs(args []string, stderr io.Writer) (*options, error) {
	o, m := new(options), modes()[""]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		if named, ok := modes()[args[0]]; ok {
			m, args = named, args[1:]
		}
	}
	check := false
	flags := flag.NewFlagSet("xdsgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&check, "check", false, "compare with what is there, and write nothing")
	flags.StringVar(&o.format, "format", "text", "of diagnostics: `text or json`")
	flags.StringVar(&o.goPath, "go", "", "for new: the `import path` of the message's Go package")
	flags.Func("descriptor_set", "take messages from a FileDescriptorSet in `file`; may be repeated", func(s string) error {
		o.sets = append(o.sets, s)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if check {
		m = modes()["-check"]
	}
	o.command, o.args = m.run, flags.Args()
	var err error
	switch {
	case o.format != "text" && o.format != "json":
		err = fmt.Errorf("-format = %q; must be text or json", o.format)
	case len(o.args) < m.least:
		err = errors.New("no descriptor, or message, was given")
	case len(o.args) > m.most:
		err = fmt.Errorf("too many arguments: %s", strings.Join(o.args, " "))
	}
	if err != nil {
		fmt.Fprintln(stderr, "xdsgen:", err)
		flags.Usage()
	}
	return o, err
}

// input reads descriptors and descriptor sets.
func (o *options) input(paths []string) (gen.Input, error) {
	var in gen.Input
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return in, err
		}
		in.Descriptors = append(in.Descriptors, gen.Descriptor{Path: path, Data: data})
	}
	for _, path := range o.sets {
		data, err := os.ReadFile(path)
		if err != nil {
			return in, err
		}
		in.Sets = append(in.Sets, data)
	}
	return in, nil
}

// report prints diagnostics in the requested format.
func (o *options) report(w io.Writer, faults gen.DiagnosticsError) {
	if o.format == "text" {
		fmt.Fprintln(w, faults.Error())
		return
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(faults); err != nil {
		fmt.Fprintln(w, strings.TrimSpace(err.Error()))
	}
}
