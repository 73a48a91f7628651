package gen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
	"github.com/xdsforge/xdsforge/gen/internal/rule"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
	"github.com/xdsforge/xdsforge/internal/descriptorsum"
)

// Input is the input of [Generate] and [Explain].
type Input struct {
	Descriptors []Descriptor
	// Sets are encoded google.protobuf.FileDescriptorSet messages. Their files take
	// precedence over those of Go packages.
	Sets [][]byte
	// Index replaces the loaded index for all descriptors. It must have the messages that
	// they name.
	Index *protoindex.Index
	// Warn, if not nil, is called with the warnings about each descriptor without errors.
	Warn func(DiagnosticsError)
}

// A DiagnosticsError lists the errors in descriptors, with their positions.
type DiagnosticsError = diag.Errors

// A Diagnostic is one of them.
type Diagnostic = diag.Diagnostic

// Schema returns the JSON Schema of the descriptor language.
func Schema() ([]byte, error) { return rule.Language().Schema() }

// Descriptor is one resource.yaml. The generated files are written beside it.
type Descriptor struct {
	Path string // as shown in diagnostics
	Data []byte
}

// File is a generated file.
type File struct {
	Path string // beside its descriptor
	Data []byte
}

// unit is a descriptor in progress.
type unit struct {
	in     Descriptor
	bag    *diag.Bag
	tree   *descriptor.Descriptor
	module module
	index  *protoindex.Index
	err    error // why there is no result
}

// Generate returns the files of all descriptors, or none. A [diag.Errors] lists errors in
// the descriptors. Any other error means that the Go toolchain failed or that the generator
// has a bug.
func Generate(ctx context.Context, in Input) ([]File, error) {
	files, err := eachModel(ctx, in, (*unit).emit)
	return slices.Concat(files...), err
}

// Explain describes the code that [Generate] returns: every field with its Go type and
// source path, the rules, and the hooks that must be written. It returns the same errors as
// Generate.
func (in Input) Explain(ctx context.Context) ([]byte, error) {
	texts, err := eachModel(ctx, in, func(_ *unit, pkg *model.Package) ([]byte, error) { return emit.Explain(pkg) })
	return bytes.Join(texts, []byte("\n")), err
}

// eachModel resolves all descriptors and returns the results of create for them, in their order. Without
// errors in a descriptor, it calls create, on several goroutines. If there are errors, it returns no
// results.
func eachModel[T any](ctx context.Context, in Input, create func(*unit, *model.Package) (T, error)) ([]T, error) {
	units, err := parse(in.Descriptors)
	if err != nil {
		return nil, err
	}
	if err := load(ctx, in, units); err != nil {
		return nil, err
	}
	results := make([]T, len(units))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, u := range units {
		if u.bag.Len() > 0 {
			continue
		}
		group.Go(func() error {
			if pkg := u.resolve(); u.bag.Len() == 0 {
				results[i], u.err = create(u, pkg)
			}
			return nil
		})
	}
	_ = group.Wait() // conclude returns the errors, in the order of the descriptors
	if err := conclude(in, units); err != nil {
		return nil, err
	}
	return results, nil
}

// conclude passes warnings on, and returns the errors in the descriptors or else the first failure.
func conclude(in Input, units []*unit) error {
	var faults diag.Errors
	for _, u := range units {
		if u.err != nil {
			return fmt.Errorf("gen: %s: %w", u.in.Path, u.err)
		}
		if warnings := u.bag.Warnings(); in.Warn != nil && u.bag.Len() == 0 && len(warnings) > 0 {
			in.Warn(warnings)
		}
		faults = append(faults, u.bag.Errors()...)
	}
	if len(faults) > 0 {
		return faults.Sort()
	}
	return nil
}

// parse reads the descriptors and finds the package of each.
func parse(in []Descriptor) ([]*unit, error) {
	var units []*unit
	folders := make(map[string]string)
	for _, d := range in {
		m, err := moduleOf(filepath.Dir(d.Path))
		if err != nil {
			return nil, err
		}
		u := &unit{in: d, bag: &diag.Bag{File: d.Path}, module: m}
		u.tree = rule.Language().Parse(d.Data, u.bag)
		if other, ok := folders[filepath.Dir(d.Path)]; ok {
			u.bag.Add(diag.Pos{}, diag.NameClash, "%s generates its code into the same folder", other)
		}
		folders[filepath.Dir(d.Path)] = d.Path
		units = append(units, u)
	}
	return units, nil
}

// load builds one index for each module, unless the input has one.
func load(ctx context.Context, in Input, units []*unit) error {
	indexes := make(map[string]*protoindex.Index)
	for _, u := range units {
		root := u.module.root
		if in.Index == nil && indexes[root] == nil {
			valid := slice.Filter(units, func(o *unit) bool { return o.module.root == root && o.bag.Len() == 0 })
			wants := slice.FlatMap(valid, func(o *unit) []protoindex.Want { return model.Messages(o.tree) })
			index, err := protoindex.Load(ctx, protoindex.Config{Dir: filepath.Dir(u.in.Path), Sets: in.Sets, Wants: wants})
			if err != nil {
				return fmt.Errorf("gen: %w", err)
			}
			indexes[root] = index
		}
		u.index = cmp.Or(in.Index, indexes[root])
	}
	return nil
}

// resolve builds the model of a descriptor. It adds errors to the unit's bag.
func (u *unit) resolve() *model.Package {
	rules := model.Rules{Kinds: rule.Kinds(), Parse: rule.Language().ParseRule}
	pkg := model.Build(u.tree, packageName(filepath.Dir(u.in.Path), u.bag), rules, u.index, u.bag)
	pkg.Sum = descriptorsum.Of(emit.Contract, u.in.Data)
	return pkg
}

// emit returns the files of one descriptor.
func (u *unit) emit(pkg *model.Package) ([]File, error) {
	dir := filepath.Dir(u.in.Path)
	emitted, err := emit.Files(pkg, emit.Target{Module: u.module.path, ImportPath: u.module.importPath})
	if unknown, ok := errors.AsType[*emit.UnknownPackageError](err); ok {
		at := cmp.Or(pkg.FirstUse(unknown.Proto), u.tree.Resource.Message.Pos)
		u.bag.AddHint(at, diag.NoGoPackage, "name the package in the key `go` of a struct with `message`", "%v", unknown)
		return nil, nil
	}
	return slice.Map(emitted, func(f emit.File) File { return File{filepath.Join(dir, f.Name), f.Data} }), err
}
