package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Where returns the path of the field whose cost was denied in the encoded message b, of m's type:
// "virtual_hosts[3].routes". It is empty if unknown. Only m's type is used.
func (e *Excess) Where(b []byte, m proto.Message) string {
	if e.at < 0 {
		return ""
	}
	r := Read(b)
	return r.path(m.ProtoReflect().Descriptor(), e.at)
}

// path returns the path of the field whose value starts at a place in the message that r would
// enter. It is empty if the message's own content starts there, as that of an empty message
// does at its end, and if an unknown field has the place.
func (r *Reader) path(m protoreflect.MessageDescriptor, at int) string {
	counts := make(map[protowire.Number]int)
	r.Enter()
	if r.at == at {
		return ""
	}
	for r.Next() {
		number, typ := protowire.DecodeTag(uint64(r.tag))
		f := m.Fields().ByNumber(number)
		here := r.at
		inner := *r
		r.Skip()
		if at > r.at {
			counts[number]++
			continue
		}
		if f == nil {
			return ""
		}
		if at == here || typ != protowire.BytesType || f.Message() == nil || f.IsMap() {
			return string(f.Name())
		}
		name := string(f.Name())
		if f.IsList() {
			name = fmt.Sprintf("%s[%d]", name, counts[number])
		}
		if below := inner.path(f.Message(), at); below != "" {
			return name + "." + below
		}
		return name
	}
	return ""
}
