package resource

import (
	"maps"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// structMessage is the message of untyped metadata.
const structMessage = "google.protobuf.Struct"

// A Metadatum is one entry of a resource's metadata (gRFC A83).
type Metadatum struct {
	// Message is the full name of the entry's message: that of a [MetadataKind], or
	// "google.protobuf.Struct".
	Message string
	// Value is the result of the MetadataKind's Parse, or a map[string]any for a Struct.
	Value any
}

// Metadata reads metadata (gRFC A83). Typed entries of registered kinds win over untyped entries
// with the same key. Typed entries of other kinds are ignored. An invalid typed entry is an error.
// The result is nil if there is no metadata.
func (dc *DecodeContext) Metadata(m *corev3.Metadata) (map[string]Metadatum, error) {
	if m == nil {
		return nil, nil
	}
	return dc.metadata(m)
}

func (dc *DecodeContext) metadata(m *corev3.Metadata) (map[string]Metadatum, error) {
	var out map[string]Metadatum
	set := func(key, message string, value any) {
		if out == nil {
			out = make(map[string]Metadatum)
		}
		out[key] = Metadatum{message, value}
	}
	var v Violations
	typed := m.GetTypedFilterMetadata()
	for _, key := range slices.Sorted(maps.Keys(typed)) {
		c, err := dc.OpenTypedConfig(typed[key])
		if err != nil {
			continue // not a registered kind
		}
		kind, ok := dc.Types.MetadataKind(c.Message)
		if !ok {
			continue
		}
		value, err := kind.Parse(dc, c)
		if err != nil {
			v.AddError((*Path)(nil).Field("typed_filter_metadata["+key+"]"), err)
			continue
		}
		set(key, c.Message, value)
	}
	for key, fields := range m.GetFilterMetadata() {
		if _, ok := out[key]; !ok {
			set(key, structMessage, fields.AsMap())
		}
	}
	return out, v.Err()
}
