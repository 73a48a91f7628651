package main

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// An api is the exported API of a module.
type api struct {
	module string
	lines  [hidden][]string // of each class but hidden
	names  [hidden]int
}

// load reads the packages of the module in a directory.
func load(ctx context.Context, dir string) (*api, error) {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir,
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedModule | packages.NeedExportFile,
	}, "./...")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(loaded, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	a := new(api)
	for _, p := range loaded {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
		if err != nil || p.Name == "main" {
			continue
		}
		a.module = p.Module.Path
		a.add(p.Types)
	}
	if err == nil && a.module == "" {
		err = fmt.Errorf("%s has no package to import", dir)
	}
	return a, err
}

// add lists the exported names of a package.
func (a *api) add(p *types.Package) {
	relative := strings.TrimPrefix(strings.TrimPrefix(p.Path(), a.module), "/")
	title := relative
	if title == "" {
		title = path.Base(a.module)
	}
	d := describer{module: a.module, pkg: p}
	for _, object := range exported(p.Scope()) {
		class := classify(relative, object.Name())
		if class == hidden {
			continue
		}
		a.names[class]++
		for _, line := range d.describe(object) {
			a.lines[class] = append(a.lines[class], title+": "+line)
		}
	}
}

// exported returns the exported objects of a package: constants, variables, functions,
// types, each kind sorted by name.
func exported(s *types.Scope) []types.Object {
	var kinds [4][]types.Object
	for _, name := range s.Names() {
		object := s.Lookup(name)
		if !object.Exported() {
			continue
		}
		kind := 3
		switch object.(type) {
		case *types.Const:
			kind = 0
		case *types.Var:
			kind = 1
		case *types.Func:
			kind = 2
		}
		kinds[kind] = append(kinds[kind], object)
	}
	return slices.Concat(kinds[:]...)
}

// String returns the list as the file has it.
func (a *api) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The exported API of %s. make api writes this file.\n#\n", a.module)
	for _, c := range a.counts() {
		fmt.Fprintf(&b, "# %4d %s\n", c.names, c.what)
	}
	for c := range hidden {
		if lines := a.lines[c]; len(lines) > 0 {
			fmt.Fprintf(&b, "\n# %s\n\n%s\n", c.heading(), strings.Join(lines, "\n"))
		}
	}
	return b.String()
}

// A count is a number of exported top-level names: constants, variables, functions and
// types, without methods.
type count struct {
	names int
	what  string
}

// counts returns the sum of the module without its extra types, the part of the sum
// under the promise, and the sum of the extra types.
func (a *api) counts() [3]count {
	return [3]count{
		{a.names[promised] + a.names[exempt], "names without the extra resource types"},
		{a.names[promised], "of them under the promise"},
		{a.names[extra], "names of the extra resource types"},
	}
}
