package descriptor

import (
	"path"
	"strings"
)

// Takes describes the values that k accepts, for the reference.
func (k Key) Takes() string {
	of := "[" + k.Of + "](#" + k.Of + ")"
	switch k.Kind {
	case KindChoice:
		return either(k.Choices, "`")
	case KindMapping:
		return "a mapping: " + of
	case KindList:
		return "a list of mappings: " + of
	case KindNamed:
		return "a mapping of names to mappings: " + of
	case KindPairs:
		return "a mapping of paths to values"
	case KindUnique:
		return "`true`, or a list of paths"
	case KindValues:
		return "`all`, or a list of values"
	case KindTrue:
		return "`true`"
	default:
		if list, ok := lists()[k.Kind]; ok {
			return scalarKinds()[list.one].what + ", or a list of them"
		}
		return scalarKinds()[k.Kind].what
	}
}

// Beside describes the keys that k requires or excludes in its mapping m, for the reference. It
// returns "" if there are none.
func (k Key) Beside(m Mapping) string {
	var out []string
	if k.Required {
		out = append(out, "required")
	}
	if len(k.With) > 0 {
		out = append(out, "needs "+either(k.With, "`"))
	}
	if k.Group != "" && k.Group == m.Need {
		out = append(out, "exactly one of: "+k.Group)
	} else if k.Group != "" {
		out = append(out, "at most one of: "+k.Group)
	}
	return strings.Join(out, "; ")
}

// GoType is the type that the conversion makes, as Go code names it, for the reference.
func (c Conversion) GoType() string {
	name := c.Type
	if c.Package != "" {
		name = path.Base(c.Package) + "." + name
	}
	if c.Pointer {
		name = "*" + name
	}
	return name
}
