package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

const module = "example.com/module"

// parsed type-checks the source of a package without imports, except for those in imports.
func parsed(t *testing.T, path, source string, imports ...*types.Package) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "a.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&types.Config{Importer: known(imports)}).Check(path, fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type known []*types.Package

func (k known) Import(path string) (*types.Package, error) {
	for _, p := range k {
		if p.Path() == path {
			return p, nil
		}
	}
	return importer.Default().Import(path)
}

func TestDescribe(t *testing.T) {
	hiddenPackage := parsed(t, module+"/internal/h", `package h
type T struct { F int; f int }
func (*T) M() {}`)
	p := parsed(t, module+"/p", `package p
import "example.com/module/internal/h"

const ( Size uint8 = 7; Long = "`+strings.Repeat("x", 100)+`"; small = 1 )
var V, v = []string{}, 1
func F[T any](a int, b ...T) (n int, err error) { return }
func f() {}

type Struct[K comparable] struct { Z, A int; Embedded; *base; small int }
func (s Struct[K]) Value(k K) {}
func (s *Struct[K]) Pointer() string { return "" }
func (s *Struct[K]) unexported() {}
type Embedded struct { E int }
func (Embedded) FromEmbedded() {}
type base struct { FromBase map[string]h.T; hidden int }
func (*base) OfBase() {}

type Sealed interface { Two(x int); One() error; no() }
type Open interface { Sealed; Three() }
type Number interface { ~int | ~uint }
type Same interface { comparable }
type Func func(Func) Kind
type Kind uint8
func (Kind) String() string { return "" }
type Alias = Struct[int]
type List[T any] = []T
type OfInternal = h.T
`, hiddenPackage)
	var got []string
	for _, o := range exported(p.Scope()) {
		got = append(got, describer{module, p}.describe(o)...)
	}
	want := `const Long untyped string = "` + strings.Repeat("x", 100) + `"
const Size uint8 = 7
var V []string
func F[T any](a int, b ...T) (n int, err error)
type Alias = Struct[int]
type Embedded struct
type Embedded struct, E int
method (Embedded) FromEmbedded()
type Func func(Func) Kind
type Kind uint8
method (Kind) String() string
type List[T any] = []T
type Number interface
type Number interface, types ~int | ~uint
type Number interface, comparable
type OfInternal = h.T
type OfInternal struct, F int
method (*OfInternal) M()
type Open interface
type Open interface, One() error
type Open interface, Three()
type Open interface, Two(x int)
type Open interface, unexported methods
type Same interface
type Same interface, comparable
type Sealed interface
type Sealed interface, One() error
type Sealed interface, Two(x int)
type Sealed interface, unexported methods
type Struct[K comparable] struct
type Struct struct, A int
type Struct struct, FromBase map[string]h.T
type Struct struct, Z int
type Struct struct, embedded Embedded
method (Struct) OfBase()
method (*Struct) Pointer() string
method (Struct) Value(k K)
`
	if text := strings.Join(got, "\n") + "\n"; text != want {
		t.Errorf("%s", diff.Diff("want", []byte(want), "got", []byte(text)))
	}
}

func TestClassify(t *testing.T) {
	for name, want := range map[string]class{
		".New":                              promised,
		"framework/resource.Update":         promised,
		"framework/resource.Source":         exempt,
		"framework/status.Source":           promised,
		"framework/client.New":              exempt,
		"framework/clients.New":             promised,
		"framework/runtime.New":             exempt,
		"framework/runtime/wire.Reader":     exempt,
		"grpcxds/httpfilter.Filter":         exempt,
		"grpcxds/httpfilter/fault.New":      exempt,
		"plugins/httpfilter/fault.New":      promised,
		"plugins/secret.Update":             extra,
		"plugins/cluster.Update":            promised,
		"framework/internal/ads.Machine":    hidden,
		"internal/prose.New":                hidden,
		"examples/demos/channel.Chapter":    hidden,
		"tools/xdsgen.Main":                 hidden,
		"gen/outputtest/testpb/opaquepb.M":  hidden,
		"grpcxds/internal.Exported":         hidden,
		"plugins/secret/internal/keys.Read": hidden,
	} {
		dot := strings.LastIndexByte(name, '.')
		if got := classify(name[:dot], name[dot+1:]); got != want {
			t.Errorf("class of %s = %s, want %s", name, got.heading(), want.heading())
		}
	}
}
