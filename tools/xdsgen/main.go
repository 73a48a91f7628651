// Command xdsgen generates the Go code of xDS resource types from their
// descriptors.
//
//	xdsgen [-descriptor_set file.binpb] [-format text|json] [descriptor | folder | folder/...]...
//	xdsgen -check [-descriptor_set file.binpb] [-format text|json] [folder | folder/...]...
//	xdsgen new [-descriptor_set file.binpb] [-go import/path] message [folder]
//	xdsgen explain [-descriptor_set file.binpb] [-format text|json] resource.yaml...
//	xdsgen schema [-descriptor_set file.binpb] [resource.yaml | folder]
//	xdsgen doc [-check] [-out folder] [-descriptor_set file.binpb] [descriptor | folder | folder/...]...
//
// "xdsgen help" and "xdsgen help new" print a short form of this page.
//
// The first form writes the generated files beside each descriptor. If any descriptor
// has an error, it writes nothing. It does not touch files that did not change. It deletes
// generated files that the descriptor no longer produces. It never changes a file without the header of generated code. If
// such a file is in the way, it writes nothing. It prints the missing hooks with
// their signatures.
//
// The second form writes nothing. It generates every resource.yaml in the given
// folders, and below those that end in "/...". The default is "./...". It prints a
// unified diff of the files that differ. It also lists missing and orphaned files,
// including orphans without a descriptor. It reports the other packages too if a
// descriptor has errors, and fails if it found nothing to check.
//
// Each package has one line that runs the first form:
//
//	//go:generate go tool xdsgen resource.yaml
//
// # Start a package and explain a descriptor
//
// xdsgen new starts a package for the message with the given full name, in the
// given folder or the current one. It writes a descriptor with every field of the
// message as a comment, a file for hooks, a doc.go with the line above, a test, and
// test cases. The new package generates and passes its tests, except TestAnnotations if
// there are annotations that no rule expresses. The command replaces no file. -go sets
// the Go package of the message, if it does not follow from its name.
//
// The descriptor has the rules of the message's annotations for protoc-gen-validate
// and protovalidate, and of the messages in it down to the third level. An annotation
// that no rule expresses is a comment.
//
// One test case has no violation and only the required fields. For each field with
// rules, further cases each break one rule, and one case has a valid value.
//
// xdsgen explain describes the generated code: every field with its Go type and
// source path, the rules, and the hooks that must be written.
//
// xdsgen doc writes a page in Markdown for each type: its fields with sources and
// defaults, its rules with their reasons, and its hooks. -out is the folder of the pages,
// "docs/types" by default. The names of the pages are those of the packages. With -check,
// it writes nothing, and fails if a page differs, is missing or has no descriptor.
//
// # JSON Schemas
//
// xdsgen schema prints the JSON Schema of the resources of a descriptor, with the rules
// and defaults of the descriptor and the comments of the proto files. Editors complete and
// check resources with it that people write in YAML. It has the field names of the proto
// file, and no rule that JSON Schema cannot express. Without an argument, the command
// prints the JSON Schema of descriptors.
//
// # Messages
//
// xdsgen reads protobuf messages from the Go packages that the descriptor's module
// can import. It needs only the Go toolchain, and no network if the modules are in
// the cache.
//
//	-descriptor_set file   take messages from an encoded FileDescriptorSet as
//	                       `protoc --include_imports -o file` writes it; may be
//	                       given more than once. Sets that the package's go:generate
//	                       line names are used for it too.
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
	"slices"
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

// options are the command line options.
type options struct {
	mode   mode
	format string
	goPath string
	out    string // folder of pages
	checks bool
	sets   []string
	args   []string
	stderr io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	same, err := o.mode.run(o, ctx, stdout)
	var faults gen.DiagnosticsError
	switch {
	case errors.As(err, &faults):
		o.report(faults)
		return exitWrong
	case err != nil:
		fmt.Fprintln(stderr, "xdsgen:", err)
		return exitUsage
	case !same:
		return exitWrong
	}
	return exitOK
}

// A mode is one use of the command.
type mode struct {
	name        string // the first argument, or a flag
	run         func(o *options, ctx context.Context, stdout io.Writer) (bool, error)
	least, most int // arguments
	args        string
	doc         string
}

// modes are the uses of the command. The first one has no name.
func modes() []mode {
	return []mode{
		{"", (*options).generate, 1, math.MaxInt, "[descriptor | folder | folder/...]...", `Generate the code of descriptors beside them. Without an error in any of them, xdsgen writes
the files that changed, deletes files that it no longer generates, and prints missing hooks.`},
		{"-check", (*options).check, 0, math.MaxInt, "[folder | folder/...]...", `Compare the existing code with the code of the descriptors, and write nothing. The default
is ./... . Sets of a go:generate line in the package apply.`},
		{"new", (*options).scaffold, 1, 2, "message [folder]", `Start a package for the message with this full name: a descriptor with all fields as
comments, a file for hooks, a doc.go, a test and a test case.`},
		{"explain", (*options).explain, 1, math.MaxInt, "[descriptor | folder | folder/...]...", `Print the fields of the generated code with their Go types and sources, the rules, and the
hooks that must be written.`},
		{"schema", (*options).schema, 0, 1, "[descriptor | folder]", `Print the JSON Schema of the resources of a descriptor, for editors and for YAML that people
write. Without an argument, print the JSON Schema of descriptors.`},
		{"doc", (*options).doc, 1, math.MaxInt, "[descriptor | folder | folder/...]...", `Write a page in Markdown for each type into the folder of -out: its fields, defaults, rules and
hooks. With -check, compare with the existing pages, and write nothing.`},
	}
}

// usage is the line of a mode.
func (m mode) usage() string {
	return strings.Join(strings.Fields("xdsgen "+m.name+" [flags] "+m.args), " ")
}

// help prints the documentation of one mode, or the lines of all.
func help(w io.Writer, m mode, all bool, flags *flag.FlagSet) {
	if !all {
		fmt.Fprintf(w, "usage: %s\n\n%s\n\nFlags:\n", m.usage(), m.doc)
	} else {
		fmt.Fprintln(w, "xdsgen generates the Go code of xDS resource types from descriptors.\n\nUsage:")
		for _, m := range modes() {
			fmt.Fprintf(w, "  %s\n", m.usage())
		}
		fmt.Fprintln(w, "\n\"xdsgen help new\" describes one of them. Flags:")
	}
	flags.SetOutput(w)
	flags.PrintDefaults()
}

func parseArgs(args []string, stdout, stderr io.Writer) (*options, error) {
	o := &options{mode: modes()[0], stderr: stderr}
	wanted := len(args) > 0 && args[0] == "help"
	if wanted {
		args = args[1:]
	}
	all := len(args) == 0 || strings.HasPrefix(args[0], "-h") || strings.HasPrefix(args[0], "--h")
	for _, m := range modes() {
		if len(args) > 0 && m.name != "" && (args[0] == m.name || args[0] == "-"+m.name || wanted && "-"+args[0] == m.name) {
			o.mode, args = m, args[1:]
			break
		}
	}
	flags := flag.NewFlagSet("xdsgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {}
	flags.BoolVar(&o.checks, "check", false, "compare with the existing code, and write nothing")
	flags.StringVar(&o.out, "out", "docs/types", "for doc: the `folder` of the pages")
	flags.StringVar(&o.format, "format", "text", "of diagnostics: `text or json`")
	flags.StringVar(&o.goPath, "go", "", "for new: the `import path` of the message's Go package")
	flags.Func("descriptor_set", "take messages from a FileDescriptorSet in `file`; may be repeated", func(s string) error {
		o.sets = append(o.sets, s)
		return nil
	})
	err := flags.Parse(args)
	if wanted || errors.Is(err, flag.ErrHelp) {
		help(stdout, o.mode, all, flags)
		return nil, flag.ErrHelp
	}
	if o.checks && o.mode.name == "" {
		o.mode = modes()[1]
	}
	o.args = flags.Args()
	switch {
	case err != nil: // package flag printed it
		help(stderr, o.mode, false, flags)
		return nil, err
	case o.format != "text" && o.format != "json":
		err = fmt.Errorf("-format = %q; must be text or json", o.format)
	case slices.ContainsFunc(o.args, lateFlag):
		err = fmt.Errorf("flags must be before the arguments: %s; usage: %s", strings.Join(o.args, " "), o.mode.usage())
	case len(o.args) < o.mode.least:
		err = fmt.Errorf("missing argument; usage: %s", o.mode.usage())
	case len(o.args) > o.mode.most:
		err = fmt.Errorf("too many arguments: %s; usage: %s", strings.Join(o.args, " "), o.mode.usage())
	case o.mode.name == "" && !isPath(o.args[0]):
		err = fmt.Errorf("there is no command and no folder %s; \"xdsgen help\" lists the commands", o.args[0])
	}
	if err != nil {
		fmt.Fprintln(stderr, "xdsgen:", err)
	}
	return o, err
}

// lateFlag reports whether an argument has the form of a flag, and is not the name of a file or folder.
func lateFlag(arg string) bool {
	_, err := os.Lstat(arg)
	return err != nil && strings.HasPrefix(arg, "-")
}

// isPath reports whether an argument has the form of a path, or is the name of a file or folder.
func isPath(arg string) bool {
	_, err := os.Lstat(arg)
	return err == nil || strings.ContainsAny(arg, "./\\")
}

// report prints diagnostics in the requested format.
func (o *options) report(faults gen.DiagnosticsError) {
	if o.format == "text" {
		fmt.Fprintln(o.stderr, faults.Error())
		return
	}
	enc := json.NewEncoder(o.stderr)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(faults); err != nil {
		fmt.Fprintln(o.stderr, strings.TrimSpace(err.Error()))
	}
}
