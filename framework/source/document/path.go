package document

import (
	"strconv"
	"strings"
)

// maxDescent is the limit of levels that a path may leave out, such as the one of an Any.
const maxDescent = 3

// At returns the node of a field path, or that of its last part that the file has. The path has the
// field names of protobuf. The file may have those of JSON.
func (n *Node) At(path string) (found *Node) {
	for path != "" {
		var step string
		step, path = nextStep(path)
		var next *Node
		switch i, err := strconv.Atoi(strings.Trim(step, "[]")); {
		case step[0] == '[' && err == nil:
			if n.Kind == Sequence && i >= 0 && i < len(n.Values) {
				next = n.Values[i]
			}
		case step[0] == '[':
			next = n.Get(strings.Trim(step, `[]"`))
		default:
			next = n.descend(step, jsonName(step), maxDescent)
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// descend returns the value of a key, here or in a mapping below. A decoder's path may leave out the
// field that wraps a message.
func (n *Node) descend(name, camel string, depth int) *Node {
	if v := n.Get(name, camel); v != nil || depth == 0 || n.Kind != Mapping {
		return v
	}
	for _, v := range n.Values {
		if found := v.descend(name, camel, depth-1); found != nil {
			return found
		}
	}
	return nil
}

// nextStep cuts the first field, index or map key off a path.
func nextStep(path string) (step, rest string) {
	if path[0] == '[' {
		end := strings.IndexByte(path, ']')
		if len(path) > 1 && path[1] == '"' {
			if end = strings.Index(path, `"]`); end >= 0 {
				end++
			}
		}
		if end < 0 {
			return path, ""
		}
		return path[:end+1], strings.TrimPrefix(path[end+1:], ".")
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	if end == 0 { // an empty field
		return ".", strings.TrimPrefix(path, ".")
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

// jsonName returns the name of a field in protobuf's JSON.
func jsonName(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts {
		if i > 0 && p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// Holding returns the first scalar with the given text.
func (n *Node) Holding(text string) *Node {
	if n.Kind == Scalar {
		if n.String() == text {
			return n
		}
		return nil
	}
	for _, v := range n.Values {
		if found := v.Holding(text); found != nil {
			return found
		}
	}
	return nil
}
