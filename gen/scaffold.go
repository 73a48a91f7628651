package gen

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"mvdan.cc/gofumpt/format"

	"github.com/xdsforge/xdsforge/gen/internal/annotation"
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// A Scaffold is the start of a resource type's package.
type Scaffold struct {
	Message   string   // full name
	GoPackage string   // import path; empty if it follows from the name or from a set
	Folder    string   // where the package goes
	Sets      [][]byte // as in [Input]
}

// Files returns the first files of the package. The descriptor has every field of the message as a
// comment. The others are a file for hooks, a doc.go with the go:generate line, a test, and test
// cases: one without violations, and others that each break one rule. The unchanged package generates
// and passes its tests, except that one test fails for annotations that no rule expresses. Files writes nothing.
func (s Scaffold) Files(ctx context.Context) ([]File, error) {
	m, err := moduleOf(s.Folder)
	if err != nil {
		return nil, err
	}
	index, err := protoindex.Load(ctx, protoindex.Config{
		Dir: s.Folder, Sets: s.Sets, Wants: []protoindex.Want{{Message: s.Message, GoPackage: s.GoPackage}},
	})
	if err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	message, err := index.Message(s.Message)
	switch {
	case errors.Is(err, protoindex.ErrNoGoPackage) && s.GoPackage == "":
		return nil, fmt.Errorf("gen: %w; name the import path of its Go package with -go", err)
	case err != nil:
		if hint := diag.Suggest(s.Message, index.Names()); hint != "" && !slices.Contains(index.Names(), s.Message) {
			return nil, fmt.Errorf("gen: %w (%s)", err, hint)
		}
		return nil, fmt.Errorf("gen: %w", err)
	}
	d := newDraft(s, message, index)
	if err := d.findRules(ctx, index, m); err != nil {
		return nil, err
	}
	files := d.cases(s.Folder)
	for _, name := range []string{"doc.go", "hooks.go", "package_test.go", "resource.yaml", "testdata/minimal.txtar"} {
		data, err := d.render(name, m)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: filepath.Join(s.Folder, strings.Replace(name, "package", d.Package, 1)), Data: data})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// A draft is the data for the templates of a new package.
type draft struct {
	Package   string // name
	Message   *protogen.Message
	GoPackage string // as the descriptor must state it; empty if it need not
	GoName    string // name of the import of the message's package
	NameField string // empty if there is none
	Complete  bool
	Schema    string
	Fields    []model.Suggestion
	Structs   []model.SuggestedStruct
	Rules     []annotation.Rule
	Hooks     []draftHook
	// Unexpressed are the annotations that no rule expresses, each with its hook if there is one.
	Unexpressed []string
	// HookImports are the names of the packages of the messages of hooks, by import path.
	HookImports map[string]string
	Minimal     string       // a message without violations, in JSON
	Name        string       // its name
	rules       *model.Scope // of the descriptor
	whole       *model.Scope // of all annotations of the message
	minimal     *dynamicpb.Message
}

// A draftHook is a hook for an annotation with an expression that no rule expresses.
type draftHook struct {
	annotation.Rule
	Name   string
	GoType string // of the message, with its package
}

// Lines are the lines of the expression.
func (h draftHook) Lines() []string { return strings.Split(strings.TrimSpace(h.CEL), "\n") }

// findHooks finds the hooks for expressions in CEL, and the packages of their messages.
func (d *draft) findHooks(index *protoindex.Index) {
	hooks, imports := make(model.Names), model.ImportNames("resource") // the package of the framework
	d.HookImports = make(map[string]string)
	for _, r := range d.Rules {
		if r.CEL == "" {
			if r.Comment != "" {
				d.Unexpressed = append(d.Unexpressed, r.Comment)
			}
			continue
		}
		name := hooks.Take("check" + cmp.Or(hookWords(strings.Trim(r.In+"."+r.Field, ".")), string(d.Message.Desc.Name())))
		d.Unexpressed = append(d.Unexpressed, "hook "+name+", "+r.Comment)
		from := string(r.Message.GoIdent.GoImportPath)
		if d.HookImports[from] == "" {
			goName, _ := index.GoName(from)
			d.HookImports[from] = imports.Take(goName)
		}
		d.Hooks = append(d.Hooks, draftHook{r, name, d.HookImports[from] + "." + r.Message.GoIdent.GoName})
	}
}

// hookWords is a path in the name of a hook: labels.key gives LabelsKeys, and labels.value gives Labels.
func hookWords(at string) string {
	words := strings.Split(at, ".")
	for i := len(words) - 1; i > 0; i-- {
		switch words[i] {
		case "key":
			words[i] = "keys"
		case "value":
			words = slices.Delete(words, i, i+1)
		}
	}
	return model.GoName(strings.Join(words, "_"))
}

func newDraft(s Scaffold, m *protogen.Message, index *protoindex.Index) *draft {
	d := &draft{
		Package: folderName(s.Folder, strings.ToLower(string(m.Desc.Name()))), Message: m, GoPackage: s.GoPackage, Schema: descriptor.SchemaID,
		Complete: s.Message == "envoy.config.listener.v3.Listener" || s.Message == "envoy.config.cluster.v3.Cluster",
	}
	d.NameField, d.Fields, d.Structs = model.Suggest(m)
	d.Rules = annotation.Derive(m, annotation.Depth, index)
	d.findHooks(index)
	goName, _ := index.GoName(string(m.GoIdent.GoImportPath))
	d.GoName = model.ImportNames("testing", "xdstest", "protojson").Take(goName)
	return d
}

// findRules resolves the rules of the descriptor and those of all annotations, and finds a message without violations.
func (d *draft) findRules(ctx context.Context, index *protoindex.Index, m module) (err error) {
	if d.rules, err = d.scope(ctx, index, m); err != nil {
		return err
	}
	whole := *d
	whole.Rules = annotation.Derive(d.Message, annotation.AllDepth, index)
	if d.whole, err = whole.scope(ctx, index, m); err != nil {
		return err
	}
	d.minimal = dynamicpb.NewMessage(d.Message.Desc)
	name := d.Message.Desc.Fields().ByName(protoreflect.Name(d.NameField))
	if name != nil {
		d.minimal.Set(name, protoreflect.ValueOfString("example"))
	}
	schema.Repair(d.whole, d.minimal) // if it does not succeed, the author completes the message
	if name != nil {
		d.Name = d.minimal.Get(name).String()
	}
	d.Minimal = cmp.Or(asJSON(d.minimal), "{}")
	return nil
}

// scope resolves the rules of the draft.
func (d *draft) scope(ctx context.Context, index *protoindex.Index, m module) (*model.Scope, error) {
	text, err := d.render("resource.yaml", m)
	if err != nil {
		return nil, err
	}
	in := Input{Descriptors: []Descriptor{{Path: filepath.Join(d.Package, "resource.yaml"), Data: text}}, Index: index}
	packages, err := eachModel(ctx, in, func(_ *unit, pkg *model.Package) (*model.Package, error) { return pkg, nil })
	if err != nil {
		return nil, err
	}
	return cmp.Or(packages[0].Update.Rules, new(model.Scope)), nil
}

// folderName returns the package name for a folder: the folder's name, if it is a valid
// one.
func folderName(folder, otherwise string) string {
	abs, err := filepath.Abs(folder)
	if name := filepath.Base(abs); err == nil && token.IsIdentifier(name) {
		return name
	}
	return otherwise
}

//go:embed scaffold
var templates embed.FS

// render returns one file.
func (d *draft) render(name string, m module) ([]byte, error) {
	t, err := template.ParseFS(templates, "scaffold/"+name+".tmpl")
	if err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	if path.Ext(name) != ".go" {
		return b.Bytes(), nil
	}
	text, err := format.Source(b.Bytes(), format.Options{LangVersion: "go1.26", ModulePath: cmp.Or(m.path, "main")})
	if err != nil {
		return nil, fmt.Errorf("gen: %s: %w", name, err)
	}
	return text, nil
}
