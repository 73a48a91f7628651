package main

import (
	"fmt"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// A describer writes the declarations of one package as lines.
type describer struct {
	module string
	pkg    *types.Package
}

// qualify names a package in a type: by its name, or not at all in the package itself.
func (d describer) qualify(p *types.Package) string {
	if p == d.pkg {
		return ""
	}
	return p.Name()
}

func (d describer) text(t types.Type) string { return types.TypeString(t, d.qualify) }

// signature returns the parameters and results of a function.
func (d describer) signature(f *types.Func) string {
	return strings.TrimPrefix(d.text(f.Type()), "func")
}

// describe returns the line of an object. The lines of a type's fields and methods
// follow.
func (d describer) describe(object types.Object) []string {
	switch o := object.(type) {
	case *types.Const:
		value := o.Val().String()
		if o.Val().Kind() == constant.String {
			value = o.Val().ExactString() // String shortens it
		}
		return []string{fmt.Sprintf("const %s %s = %s", o.Name(), d.text(o.Type()), value)}
	case *types.Var:
		return []string{fmt.Sprintf("var %s %s", o.Name(), d.text(o.Type()))}
	case *types.Func:
		return []string{fmt.Sprintf("func %s%s", o.Name(), d.signature(o))}
	case *types.TypeName:
		return d.describeType(o)
	}
	return []string{types.ObjectString(object, d.qualify)}
}

func (d describer) describeType(o *types.TypeName) []string {
	switch t := o.Type().(type) {
	case *types.Alias:
		line := fmt.Sprintf("type %s%s = %s", o.Name(), d.parameters(t.TypeParams()), d.text(t.Rhs()))
		// An alias is the only place that lists the members of an internal type.
		if n, ok := types.Unalias(t).(*types.Named); ok && d.internal(n.Obj().Pkg()) {
			return append([]string{line}, d.members(o.Name(), n)...)
		}
		return []string{line}
	case *types.Named:
		line := fmt.Sprintf("type %s%s %s", o.Name(), d.parameters(t.TypeParams()), d.shape(t.Underlying()))
		return append([]string{line}, d.members(o.Name(), t)...)
	}
	return []string{types.ObjectString(o, d.qualify)}
}

// internal reports whether a package of the module is not in the list.
func (d describer) internal(p *types.Package) bool {
	relative, ok := strings.CutPrefix(p.Path(), d.module+"/")
	return ok && classify(relative, "") == hidden
}

// parameters returns the type parameters of a declaration.
func (d describer) parameters(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var texts []string
	for p := range list.TypeParams() {
		texts = append(texts, p.Obj().Name()+" "+d.text(p.Constraint()))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// shape is an underlying type without its members, which have lines of their own.
func (d describer) shape(t types.Type) string {
	switch t.(type) {
	case *types.Struct:
		return "struct"
	case *types.Interface:
		return "interface"
	}
	return d.text(t)
}

// members returns the lines of a type's exported fields and methods, each sorted.
func (d describer) members(name string, t *types.Named) []string {
	var fields []string
	switch u := t.Underlying().(type) {
	case *types.Struct:
		fields = d.fields("type "+name+" struct, ", u)
	case *types.Interface:
		return d.elements("type "+name+" interface, ", u)
	}
	slices.Sort(fields)
	var methods []string
	for _, s := range typeutil.IntuitiveMethodSet(t, nil) {
		f, ok := s.Obj().(*types.Func)
		if !ok || !f.Exported() || promotedByExported(t, s.Index()) {
			continue
		}
		receiver := name
		if _, pointer := s.Recv().(*types.Pointer); pointer {
			receiver = "*" + name
		}
		methods = append(methods, fmt.Sprintf("method (%s) %s%s", receiver, f.Name(), d.signature(f)))
	}
	return append(fields, methods...)
}

// promotedByExported reports whether a method comes from an embedded field that has a
// line of its own.
func promotedByExported(t *types.Named, index []int) bool {
	s, ok := t.Underlying().(*types.Struct)
	return ok && len(index) > 1 && s.Field(index[0]).Exported()
}

// fields lists exported fields, also those that an unexported embedded struct promotes.
func (d describer) fields(prefix string, s *types.Struct) (lines []string) {
	for f := range s.Fields() {
		switch {
		case f.Exported() && f.Embedded():
			lines = append(lines, prefix+"embedded "+d.text(f.Type()))
		case f.Exported():
			lines = append(lines, prefix+f.Name()+" "+d.text(f.Type()))
		case f.Embedded():
			t := f.Type()
			if p, ok := t.Underlying().(*types.Pointer); ok {
				t = p.Elem()
			}
			if embedded, ok := t.Underlying().(*types.Struct); ok {
				lines = append(lines, d.fields(prefix, embedded)...)
			}
		}
	}
	return lines
}

// elements lists the methods and the type unions of an interface.
func (d describer) elements(prefix string, i *types.Interface) (lines []string) {
	sealed := false
	for m := range i.Methods() {
		if m.Exported() {
			lines = append(lines, prefix+m.Name()+d.signature(m))
		} else {
			sealed = true
		}
	}
	slices.Sort(lines)
	for t := range i.EmbeddedTypes() {
		if _, ok := t.Underlying().(*types.Interface); !ok {
			lines = append(lines, prefix+"types "+d.text(t))
		}
	}
	if i.IsComparable() {
		lines = append(lines, prefix+"comparable")
	}
	if sealed {
		lines = append(lines, prefix+"unexported methods")
	}
	return lines
}
