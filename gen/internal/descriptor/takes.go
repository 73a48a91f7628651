package descriptor

import "strings"

// Takes describes the values that k accepts.
func (k Key) Takes() string {
	switch k.Kind {
	case KindChoice:
		return code(k.Choices)
	case KindMapping:
		return "a mapping: [" + k.Of + "](#" + k.Of + ")"
	case KindList:
		return "a list of mappings: [" + k.Of + "](#" + k.Of + ")"
	case KindNamed:
		return "a mapping of names to mappings: [" + k.Of + "](#" + k.Of + ")"
	case KindPairs:
		return "a mapping of paths to values"
	case KindPaths, KindMessages, KindLiterals:
		one, _ := elementKinds(k.Kind)
		return scalarKinds()[one].what + ", or a list of them"
	case KindUnique:
		return "`true`, or a list of paths"
	case KindValues:
		return "`all`, or a list of values"
	case KindTrue:
		return "`true`"
	default:
		return scalarKinds()[k.Kind].what
	}
}

// code joins words as code: "`a`, `b` or `c`".
func code(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "`" + w + "`"
	}
	return join(quoted)
}

// either joins words to `"a", "b" or "c"`.
func either(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	return join(quoted)
}

func join(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Beside describes the keys that k requires or excludes in its mapping m. It returns "" if
// there are none.
func (k Key) Beside(m Mapping) string {
	var out []string
	if k.Required {
		out = append(out, "required")
	}
	if len(k.With) > 0 {
		out = append(out, "needs "+code(k.With))
	}
	if k.Group != "" && k.Group == m.Need {
		out = append(out, "exactly one of: "+k.Group)
	} else if k.Group != "" {
		out = append(out, "at most one of: "+k.Group)
	}
	return strings.Join(out, "; ")
}
