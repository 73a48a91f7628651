package model

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// updateName is the Go name of the struct that a descriptor's fields make.
const updateName = "Update"

// A builder builds a package from a descriptor. It builds a struct when a field first uses
// it, because that use determines its message.
type builder struct {
	Rules
	bag     *diag.Bag
	index   *protoindex.Index
	desc    *descriptor.Descriptor
	pkg     *Package
	structs map[string]*Struct
	enums   map[string]*Enum
	waiting []waiting
	hooks   []descriptor.Text // the functions that must be written by hand
}

// waiting is a struct whose fields are still to be built.
type waiting struct {
	s    *Struct
	decl *descriptor.Struct
}

// Build makes the model of d, whose generated code goes into the Go package
// name. Faults are noted in bag; the model is of use only where there were none.
func Build(d *descriptor.Descriptor, name string, rules Rules, index *protoindex.Index, bag *diag.Bag) *Package {
	b := &builder{
		Rules: rules, bag: bag, index: index, desc: d,
		pkg: &Package{
			Name: name, Source: filepath.Base(bag.File), Complete: d.Resource.SotW.Value == "complete", GoName: index.GoName,
			Wildcard: d.Resource.Wildcard.Value, Globs: d.Resource.Globs.Value, Collected: d.Resource.Collection.Value, Uses: make(Uses),
			Wire: d.Resource.Decoder.Value == "wire", Strict: d.Resource.Strict.Value,
		},
		structs: make(map[string]*Struct), enums: make(map[string]*Enum),
	}
	if !try(func() { b.pkg.Message = b.message(d.Resource.Message, d.Resource.Go) }) {
		return b.pkg
	}
	try(func() { b.nameField(d.Resource.Name) })
	try(func() { b.collection(d.Resource.Collection) })
	if s := d.Resource.Strict; b.pkg.Strict && !b.pkg.Wire {
		bag.Add(s.Pos, diag.Conflict, "strict needs decoder: wire; decoder: message always checks every byte")
	}
	b.pkg.Update = &Struct{Pos: d.Pos, Name: updateName, Doc: d.Resource.Doc.Value, Message: b.pkg.Message}
	b.fill(b.pkg.Update, &descriptor.Struct{Fields: d.Fields})
	for i := 0; i < len(b.waiting); i++ {
		b.fill(b.waiting[i].s, b.waiting[i].decl)
	}
	b.unused()
	b.recursion()
	b.comparability()
	b.rules(b.pkg.Update, d.Rules, d.Hooks)
	b.lateHooks()
	b.refs(d.Refs)
	b.clashes()
	if b.pkg.Wire {
		try(b.wireFields)
	}
	return b.pkg
}

// Messages are the messages that d names, as [protoindex.Load] wants them.
func Messages(d *descriptor.Descriptor) []protoindex.Want {
	wants := []protoindex.Want{{Message: d.Resource.Message.Value, GoPackage: d.Resource.Go.Value}}
	if c := d.Resource.Collection; c.Given() { // it stands beside the message, unless its name says otherwise
		wants = append(wants, protoindex.Want{Message: c.Value, GoPackage: cmp.Or(protoindex.GoPackage(c.Value), d.Resource.Go.Value)})
	}
	add := func(t, goPath descriptor.Text) {
		i := slices.IndexFunc(wants, func(w protoindex.Want) bool { return w.Message == t.Value })
		switch {
		case !t.Given():
		case i < 0:
			wants = append(wants, protoindex.Want{Message: t.Value, GoPackage: goPath.Value})
		default:
			wants[i].GoPackage = cmp.Or(wants[i].GoPackage, goPath.Value)
		}
	}
	inAny := func(f descriptor.Field) { add(f.Any, f.Go) }
	walk(d.Fields, inAny)
	for _, s := range d.Structs {
		if s.Go.Given() { // otherwise the message is reached by a field
			add(s.Message, s.Go)
		}
		walk(s.Fields, inAny)
	}
	return wants
}

// walk calls visit for fields, for the cases in them, and for the fields of those.
func walk(fields []descriptor.Field, visit func(descriptor.Field)) {
	for _, f := range fields {
		visit(f)
		for _, c := range f.Oneof {
			visit(descriptor.Field{Any: c.Any, Go: c.Go, Struct: c.Struct})
			walk(c.Fields, visit)
		}
	}
}

// message finds a message of the index. goPath is the key that names its Go package.
func (b *builder) message(t, goPath descriptor.Text) *protogen.Message {
	m, err := b.index.Message(t.Value)
	if err == nil {
		path := string(m.GoIdent.GoImportPath)
		b.require(!goPath.Given() || path == goPath.Value, goPath, diag.NoGoPackage, "%s is in Go package %s, not in %s", t.Value, path, goPath.Value)
		return m
	}
	at, code, hint := t, diag.NoMessage, diag.Suggest(t.Value, b.index.Names())
	if errors.Is(err, protoindex.ErrNoGoPackage) {
		code, hint = diag.NoGoPackage, b.packageHint(t, goPath)
	}
	if goPath.Given() && (code == diag.NoGoPackage || slices.Contains(b.index.Names(), t.Value)) {
		at = goPath // the message exists, so the fault is in its Go package
	}
	panic(b.fault(at.Pos, code, hint, "%v", err))
}

// packageHint suggests a fix for a message without a known Go package: a similar name in
// the same protobuf package, or the key that names the Go package.
func (b *builder) packageHint(t, goPath descriptor.Text) string {
	hint := diag.Suggest(t.Value, sameScope(t.Value, b.index.Names()))
	if hint == "" && !goPath.Given() && t != b.desc.Resource.Collection {
		return "name the import path of its Go package in `go`"
	}
	return hint
}

// collection checks that a message is one of list collections (TP1).
func (b *builder) collection(t descriptor.Text) {
	if t.Given() {
		f, _ := fieldOf(b.message(t, descriptor.Text{}), "entries")
		b.require(f != nil && f.Message != nil && f.Message.Desc.FullName() == "xds.core.v3.CollectionEntry", t, diag.WrongShape,
			"%s is not a collection: it has no field entries of xds.core.v3.CollectionEntry", t.Value)
	}
}

func (b *builder) nameField(t descriptor.Text) {
	m := b.pkg.Message
	if f, _ := fieldOf(m, "wrapper"); t.Value == "wrapper" && f == nil {
		return
	}
	const nameless = "write `name: wrapper` if the message has no name"
	near := diag.Suggest(t.Value, protoNames(m, false))
	b.requireHint(near != "" || strings.Contains(t.Value, "."), t, diag.UnknownField, nameless, "unknown field %q in %s", t.Value, Short(m))
	p := b.path(t, m)
	b.requireHint(len(p.Steps) == 1 && p.Class() == String && !p.Wrapper() && !p.Many(), t, diag.WrongShape, nameless, "the name must be a string field of %s itself", Short(m))
	b.pkg.NameField = p.Leaf()
}

// use is the struct of the given name, made of m.
func (b *builder) use(t descriptor.Text, m *protogen.Message) *Struct {
	decl := b.declared(t)
	full := string(m.Desc.FullName())
	s, ok := b.structs[t.Value]
	if !ok {
		s = b.newStruct(decl, m)
		b.structs[t.Value] = s
		if want := cmp.Or(decl.Message.Value, full); want != full {
			b.bag.Add(t.Pos, diag.StructMessage, "struct %s is declared for %s, but this message is %s", s.Name, want, full)
		}
	} else if s.Message.Desc.FullName() != m.Desc.FullName() {
		b.bag.Add(t.Pos, diag.StructMessage, "struct %s is decoded from %s elsewhere, but this message is %s", s.Name, s.Message.Desc.FullName(), full)
	}
	return s
}

// newStruct adds a struct that is decoded from m. Its fields are built later.
func (b *builder) newStruct(decl *descriptor.Struct, m *protogen.Message) *Struct {
	s := &Struct{
		Pos: decl.Name.Pos, Name: decl.Name.Value, Doc: decl.Doc.Value, Message: m, Side: decl.Side.Value,
		declaredComparable: decl.Comparable.Pos,
	}
	b.pkg.Structs = append(b.pkg.Structs, s)
	b.waiting = append(b.waiting, waiting{s, decl})
	return s
}

// declared is the declaration of a struct.
func (b *builder) declared(t descriptor.Text) *descriptor.Struct {
	names := slice.Map(b.desc.Structs, func(s descriptor.Struct) string { return s.Name.Value })
	i := slices.Index(names, t.Value)
	if i < 0 {
		panic(b.fault(t.Pos, diag.UnknownStruct, diag.Suggest(t.Value, names), "there is no struct %s", t.Value))
	}
	return &b.desc.Structs[i]
}

// fill builds the fields of a struct and its other declarations.
func (b *builder) fill(s *Struct, decl *descriptor.Struct) {
	for i := range decl.Fields {
		if !try(func() { s.Fields = append(s.Fields, b.field(s, &decl.Fields[i])) }) {
			s.faulty = append(s.faulty, decl.Fields[i].Name.Value)
		}
	}
	b.fieldClashes(s, decl.Fields)
	try(func() { s.Keep = b.keep(s, decl.KeepIf) })
	try(func() { s.Stop = b.stop(s, decl.StopIf) })
	b.rules(s, decl.Rules, nil)
}

// unused notes structs that no other struct and not the update mentions.
func (b *builder) unused() {
	for i, s := range b.desc.Structs {
		used := false
		mention := func(f descriptor.Field) {
			used = used || f.Struct.Value == s.Name.Value || f.Each.Value == s.Name.Value
		}
		walk(b.desc.Fields, mention)
		for j, other := range b.desc.Structs {
			if i != j {
				walk(other.Fields, mention)
			}
		}
		if !used {
			b.bag.Add(s.Name.Pos, diag.UnusedStruct, "nothing uses struct %s", s.Name.Value)
		}
	}
}
