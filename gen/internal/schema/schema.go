package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
)

// Schema is the JSON Schema of a resource.
type Schema struct {
	JSON []byte
	// Rules are the rules that the schema has, as violations without values and indexes.
	Rules []string
}

// writer collects the parts of a schema.
type writer struct {
	comments *protoindex.Comments
	defs     object
	all      []any // of the resource
	rules    []string
}

// Of returns the schema of the resources of p.
func Of(p *model.Package, comments *protoindex.Comments) (Schema, error) {
	w := &writer{comments: comments, defs: make(object)}
	root := w.message(p.Message)
	if p.NameField != nil {
		w.all = append(w.all, has(string(p.NameField.Desc.Name())))
	}
	w.structure(p.Update, nil, nil)
	out := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   string(p.Message.Desc.FullName()),
		"$defs":   w.defs,
		"allOf":   append([]any{root}, w.all...),
	}
	describe(out, p.Update.Doc)
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return Schema{}, fmt.Errorf("schema: %w", err)
	}
	return Schema{append(data, '\n'), w.rules}, nil
}

// structure adds the defaults and rules of a struct, which is decoded from the message at a path of
// the resource. above are the structs that contain it.
func (w *writer) structure(s *model.Struct, at []model.Step, above []*model.Struct) {
	if slices.Contains(above, s) {
		return
	}
	above = append(slices.Clip(above), s)
	if s.Rules != nil {
		w.scope(s.Rules, at, func(inner object) { w.all = append(w.all, inside(at, inner)) })
	}
	for _, f := range s.Fields {
		v, ok := f.Value.(model.StructOf)
		// Otherwise, its rules are not checked, or depend on more than the message.
		ruled := ok && v.Any == nil && f.When.Empty() && v.Struct.Keep == nil && v.Struct.Stop == nil
		paths := f.Paths
		if len(paths) == 0 {
			paths = []model.Path{{From: s.Message}}
		}
		for _, p := range paths {
			steps := slices.Concat(at, p.Steps)
			if slices.ContainsFunc(steps, func(s model.Step) bool { return s.Pick != nil }) {
				continue // the path leads to one element of a list
			}
			if f.Default != nil {
				if v, ok := jsonValue(*f.Default); ok {
					w.all = append(w.all, below(steps, object{"default": v}, false))
				}
			}
			if ruled {
				w.structure(v.Struct, steps, above)
			}
		}
	}
}

// scope adds the rules of a scope, whose message is at a path. wrap adds a schema of that message.
func (w *writer) scope(s *model.Scope, at []model.Step, wrap func(object)) {
	for _, c := range s.Checks {
		if c.Rule == nil {
			continue // a hook
		}
		if inner, ok := check(c); ok {
			if inner, ok = when(c.When, inner); ok {
				wrap(inner)
				path := model.Path{Steps: slices.Concat(at, c.Path.Steps)}
				w.rules = append(w.rules, path.InViolation()+"; "+emit.RuleText(c))
			}
		}
	}
	for _, u := range s.Under {
		if _, ok := when(u.When, object{}); !ok {
			continue
		}
		w.scope(u.Scope, slices.Concat(at, u.Path.Steps), func(inner object) {
			inner, _ = when(u.When, inside(u.Path.Steps, inner))
			wrap(inner)
		})
	}
}

// inside returns the schema of a message for a schema of the messages at a path, each of them where
// they are repeated.
func inside(steps []model.Step, inner object) object {
	if len(steps) > 0 {
		inner = repeated(steps[len(steps)-1], inner)
	}
	return below(steps, inner, false)
}

// repeated returns the schema of a list or map for a schema of its elements. That of another field stays as it is.
func repeated(s model.Step, inner object) object {
	switch {
	case s.Field.Desc.IsMap():
		return object{"additionalProperties": inner}
	case s.Field.Desc.IsList():
		return object{"items": inner}
	}
	return inner
}

// below returns the schema of a message for a schema of the values at a path. If required, all fields
// of the path must be present.
func below(steps []model.Step, inner object, required bool) object {
	for i, step := range slices.Backward(steps) {
		if i < len(steps)-1 {
			inner = repeated(step, inner)
		}
		name := string(step.Field.Desc.Name())
		inner = object{"properties": object{name: inner}}
		if required {
			inner["required"] = []string{name}
		}
	}
	return inner
}
