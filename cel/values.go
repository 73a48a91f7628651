package cel

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// headers are the headers of a call, request.headers. An expression with an index looks one up; only others make a map of all.
type headers struct{ call *matchtree.Call }

// Find implements [traits.Mapper].
func (h headers) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	text := string(name)
	if h.call.Request != nil {
		text = strings.ToLower(text) // as in Envoy
	}
	value, there := h.call.Header(text)
	return types.String(value), there
}

// all returns a map of all headers.
func (h headers) all() traits.Mapper {
	out := make(map[string]string, len(h.call.Metadata)+2)
	for name := range h.call.Names() {
		if v, there := h.call.Header(name); there {
			out[name] = v
		}
	}
	for _, name := range []string{":method", ":path", ":authority", ":scheme"} {
		if v, there := h.call.Header(name); there {
			out[name] = v
		}
	}
	return types.NewStringStringMap(types.DefaultTypeAdapter, out)
}

// Contains implements [traits.Container].
func (h headers) Contains(key ref.Val) ref.Val { return contains(h, key) }

// Get implements [traits.Indexer].
func (h headers) Get(key ref.Val) ref.Val { return get(h, key) }

// Size implements [traits.Sizer].
func (h headers) Size() ref.Val { return h.all().Size() }

// Iterator implements [traits.Iterable].
func (h headers) Iterator() traits.Iterator { return h.all().Iterator() }

// ConvertToNative implements [ref.Val].
func (h headers) ConvertToNative(t reflect.Type) (any, error) { return h.all().ConvertToNative(t) }

// ConvertToType implements [ref.Val].
func (h headers) ConvertToType(t ref.Type) ref.Val { return h.all().ConvertToType(t) }

// Equal implements [ref.Val].
func (h headers) Equal(other ref.Val) ref.Val { return h.all().Equal(other) }

// Type implements [ref.Val].
func (headers) Type() ref.Type { return types.MapType }

// Value implements [ref.Val].
func (h headers) Value() any { return h.all().Value() }

// metadata is the metadata of a call's cluster. It cannot be enumerated.
type metadata struct{ call *matchtree.Call }

// Find implements [traits.Mapper]. A value that is no object is not found (A103).
func (m metadata) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok || m.call.Attributes == nil {
		return nil, false
	}
	fields, there := m.call.Attributes.ClusterMetadata(string(name))
	if !there {
		return nil, false
	}
	out := make(map[string]any, len(fields))
	for k, v := range fields {
		switch v := v.(type) {
		case string:
			out[k] = v
		case float64:
			if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
				out[k] = int64(v)
			}
		}
	}
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, out), true
}

// Contains implements [traits.Container].
func (m metadata) Contains(key ref.Val) ref.Val { return contains(m, key) }

// Get implements [traits.Indexer].
func (m metadata) Get(key ref.Val) ref.Val { return get(m, key) }

var errEnumerate = types.NewErr("cel: the entries of cluster_metadata.filter_metadata cannot be enumerated")

// Size implements [traits.Sizer].
func (metadata) Size() ref.Val { return errEnumerate }

// Iterator implements [traits.Iterable].
func (metadata) Iterator() traits.Iterator {
	return types.NewStringStringMap(types.DefaultTypeAdapter, nil).Iterator()
}

// ConvertToNative implements [ref.Val].
func (metadata) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("cel: cluster metadata cannot be converted to %v", t)
}

// ConvertToType implements [ref.Val].
func (metadata) ConvertToType(ref.Type) ref.Val { return errEnumerate }

// Equal implements [ref.Val].
func (metadata) Equal(ref.Val) ref.Val { return errEnumerate }

// Type implements [ref.Val].
func (metadata) Type() ref.Type { return types.MapType }

// Value implements [ref.Val].
func (m metadata) Value() any { return m.call }

// A finder looks a key up.
type finder interface {
	Find(key ref.Val) (ref.Val, bool)
}

func contains(f finder, key ref.Val) ref.Val {
	_, there := f.Find(key)
	return types.Bool(there)
}

func get(f finder, key ref.Val) ref.Val {
	if v, there := f.Find(key); there {
		return v
	}
	return types.NewErr("no such key")
}
