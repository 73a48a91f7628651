// Command xdsgen generates the Go code of xDS resource types from their
// descriptors.
//
//	xdsgen [-descriptor_set file.binpb] [-format text|json] resource.yaml...
//	xdsgen -check [-descriptor_set file.binpb] [-format text|json] [folder | folder/...]...
//	xdsgen new [-descriptor_set file.binpb] [-go import/path] message [folder]
//	xdsgen explain [-descriptor_set file.binpb] [-format text|json] resource.yaml...
//	xdsgen schema
//
// The first form writes the generated files beside each descriptor: all of them,
// or, where anything is wrong with any descriptor, none. Files that were
// generated from a descriptor before and are not any longer are deleted. A file
// without the header of generated code is never touched: where one is in the way,
// nothing is written. Hooks that are still to be written by hand are printed, each
// with what it must be.
//
// The second form writes nothing. It generates every resource.yaml in the given
// folders, below them where a folder ends in /..., by default "./...", and prints
// as a unified diff what differs from the files that are there. It names files
// that are missing and orphans, also those whose descriptor is gone.
//
// A package has one line that runs the first form:
//
//	//go:generate go tool xdsgen resource.yaml
//
// # Starting, and looking
//
// xdsgen new starts a package for the message with the given full name, in the
// given folder or the one at hand: a descriptor with every field of the message as
// a comment, a file for hooks, a doc.go with the line above, a test and a case for
// it. What it writes generates and passes as it is. It replaces no file. -go says
// which Go package the message is in, where that does not follow from its name.
//
// xdsgen explain prints what would be generated: every field with its Go type and
// the path that its value comes from, the rules, and the hooks that must be
// written.
//
// xdsgen schema prints the JSON Schema of descriptors, for editors.
//
// # Messages
//
// Facts about protobuf messages come from the Go packages that the descriptor's
// module can import: nothing but the Go toolchain is needed, and no network
// where the modules are in the cache.
//
//	-descriptor_set file   take messages from an encoded FileDescriptorSet as
//	                       `protoc --include_imports -o file` writes it; may be
//	                       given more than once
//
// # Diagnostics
//
// Whatever is wrong is reported at once, on standard error, one fault a line:
//
//	plugins/cluster/resource.yaml:14:9: unknown field "service_nam" in Cluster.EdsClusterConfig (did you mean "service_name"?) [XG012]
//
//	-format json           print a JSON array of objects with file, line, column,
//	                       code, message and, where there is one, hint
//
// # Exit codes
//
//	0  everything was generated, or is as it must be
//	1  something is wrong with a descriptor, or -check found a difference
//	2  wrong usage, or the files or the Go toolchain could not be used
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

// A command does what was asked for, and reports whether all is as it must be.
type command func(o *options, ctx context.Context, stdout io.Writer) (bool, error)

// options are what the command line says.
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

// A mode is what the command is called for.
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

// report prints diagnostics in the format that was asked for.
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
