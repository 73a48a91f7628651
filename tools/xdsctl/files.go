package xdsctl

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/configfile"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/offline"
)

// A problem is an error or a warning about a file.
type problem struct {
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Type     string `json:"type,omitempty"`
	Name     string `json:"name,omitempty"`
	Path     string `json:"path,omitempty"`
	Value    string `json:"value,omitempty"`
	Rule     string `json:"rule"`
}

// bootstrapType is the type of a bootstrap, which is no message.
const bootstrapType = "bootstrap"

const (
	severityError   = "error"
	severityWarning = "warning"
)

// position returns "file:line:column", as compilers print it.
func (p *problem) position() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// text returns the problem without its position.
func (p *problem) text() string {
	text := resource.Violation{Path: p.Path, Value: p.Value, Rule: p.Rule}.String()
	if p.Name != "" {
		text = fmt.Sprintf("%s %q: %s", short(p.Type), p.Name, text)
	} else if p.Type != "" {
		text = short(p.Type) + ": " + text
	}
	return text
}

// A loaded resource is one of a file, after decoding.
type loaded struct {
	file     string
	item     configfile.Item
	typ      string // full name of the message
	name     string
	version  string
	update   resource.Update // nil: rejected, or without a decoder
	problems []problem
}

// A loader reads and decodes files.
type loader struct {
	reader  configfile.Reader
	decoder *offline.Decoder
}

// fileFlags are the flags of commands that read files.
type fileFlags struct {
	format, message, bootstrap string
}

func (f *fileFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.format, "format", "", "`syntax` of the files: yaml, json, text or binary; default: by the file's extension")
	c.Flags().StringVar(&f.message, "type", "", "`message` of documents without @type: lds, rds, cds, eds, or a full name")
	c.Flags().StringVar(&f.bootstrap, "bootstrap", "", "decode with the authorities and certificate providers of a bootstrap `file`")
}

// loader returns a loader with the settings of the flags.
func (a *app) loader(f *fileFlags) (*loader, error) {
	types, err := a.messages()
	if err != nil {
		return nil, err
	}
	l := &loader{reader: configfile.Reader{Types: types, Format: configfile.Format(f.format), Stdin: a.stdin}}
	if f.message != "" {
		l.reader.Message = fullName(f.message)
	}
	if !knownFormat(f.format) {
		return nil, fmt.Errorf("--format = %q; must be yaml, json, text or binary", f.format)
	}
	var boot *bootstrap.Config
	if f.bootstrap != "" {
		if boot, err = bootstrap.LoadFile(f.bootstrap); err != nil {
			return nil, rejected("%w", err)
		}
	}
	profile, err := a.clientProfile()
	if err != nil {
		return nil, err
	}
	l.decoder, err = offline.New(profile, boot, a.registered())
	return l, err
}

func knownFormat(format string) bool {
	if format == "" {
		return true
	}
	for _, f := range configfile.Formats() {
		if string(f) == format {
			return true
		}
	}
	return false
}

// expand returns the files of the arguments. A folder stands for all files below it whose names have
// a known extension.
func expand(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-":
			files = append(files, arg)
			continue
		case err != nil:
			return nil, rejected("%w", err)
		case !info.IsDir():
			files = append(files, arg)
			continue
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && configfile.Known(path) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// load reads files on all processors, and returns their resources in the order of the files.
func (l *loader) load(files []string) ([]loaded, error) {
	results, errs := make([][]loaded, len(files)), make([]error, len(files))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for i := range next {
				results[i], errs[i] = l.file(files[i])
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wg.Wait()
	var all []loaded
	for _, r := range results {
		all = append(all, r...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, rejected("%w", err)
	}
	return all, nil
}

func (l *loader) file(path string) ([]loaded, error) {
	items, err := l.reader.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := make([]loaded, len(items))
	for i, item := range items {
		out[i] = l.item(path, item)
	}
	return out, nil
}

func (l *loader) item(path string, item configfile.Item) loaded {
	r := loaded{file: path, item: item, typ: item.Message, name: item.Name, version: item.Version}
	if r.name == "" && r.typ != "" {
		r.name = item.OwnName()
	}
	for _, p := range item.Problems {
		r.add(p.Line, p.Column, resource.Violation{Path: p.Path, Value: p.Value, Rule: p.Rule}, p.Warning)
	}
	switch {
	case item.Bootstrap != nil:
		r.typ = bootstrapType
		_, err := bootstrap.Parse(item.Bootstrap)
		r.bootstrapErrors(err)
	case item.Resource != nil:
		r.decode(l.decoder)
	}
	slices.SortStableFunc(r.problems, func(a, b problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return r
}

// add adds a problem.
func (r *loaded) add(line, column int, v resource.Violation, warning bool) {
	severity := severityError
	if warning {
		severity = severityWarning
	}
	r.problems = append(r.problems, problem{
		Severity: severity, File: r.file, Line: line, Column: column,
		Type: r.typ, Name: r.name, Path: v.Path, Value: v.Value, Rule: v.Rule,
	})
}

func (r *loaded) bootstrapErrors(err error) {
	for _, e := range flatten(err) {
		v := resource.Violation{Rule: e.Error()}
		if at, ok := errors.AsType[*bootstrap.Error](e); ok {
			v = resource.Violation{Path: at.Path, Value: at.Value, Rule: at.Rule}
			if at.Err != nil {
				v.Rule += ": " + at.Err.Error()
			}
		}
		line, column := r.item.Position(v.Path)
		r.add(line, column, v, false)
	}
}

// decode decodes the resource, and adds the reasons of a rejection.
func (r *loaded) decode(d *offline.Decoder) {
	if r.name == "" {
		r.name = d.PeekName(r.item.Resource)
	}
	u, err := d.Decode(r.item.Resource, r.item.Name, r.version)
	var invalid *resource.ValidationError
	line, column := r.item.Position("")
	switch {
	case err == nil:
		r.update, r.name = u, u.Name().String()
	case errors.Is(err, offline.ErrNoDecoder):
		r.add(line, column, resource.Violation{Path: r.item.Path, Rule: "no resource type is registered for the message, so that only its syntax is checked"}, true)
	case errors.As(err, &invalid):
		for _, v := range invalid.Violations {
			line, column := r.item.Position(v.Path)
			r.add(line, column, v, false)
		}
		if invalid.More > 0 {
			r.add(line, column, resource.Violation{Rule: fmt.Sprintf("has %d more violations", invalid.More)}, false)
		}
	default:
		r.add(line, column, resource.Violation{Path: r.item.Path, Rule: err.Error()}, false)
	}
}

// failed reports whether the resource is rejected.
func (r *loaded) failed() bool {
	for i := range r.problems {
		if r.problems[i].Severity == severityError {
			return true
		}
	}
	return false
}

// flatten returns the errors that are joined in err.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range list.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}
