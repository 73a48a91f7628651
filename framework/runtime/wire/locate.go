package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Where is the path of the field for which the cost was denied, within the encoded
// message b, of m's type: "virtual_hosts[3].routes". Empty: unknown. Of m, only the type
// counts.
func (e *Excess) Where(b []byte, m proto.Message) string {
	if e.at < 0 {
		return ""
	}
	r := Read(b)
	path, ok := r.path(m.ProtoReflect().Descriptor(), e.at)
	if !ok {
		return ""
	}
	return path
}

// path is the path of the field whose value starts at a place in the message that r would
// enter.
func (r *Reader) path(m protoreflect.MessageDescriptor, at int) (path string, ok bool) {
	counts := make(map[protowire.Number]int)
	r.Enter()
	for r.Next() {
		number, typ := protowire.DecodeTag(uint64(r.tag))
		f := m.Fields().ByNumber(number)
		here := r.at
		inner := *r
		r.Skip()
		if f == nil || at >= r.at {
			counts[number]++
			continue
		}
		if at == here || typ != protowire.BytesType || f.Message() == nil || f.IsMap() {
			return string(f.Name()), true
		}
		name := string(f.Name())
		if f.IsList() {
			name = fmt.Sprintf("%s[%d]", name, counts[number])
		}
		if below, ok := inner.path(f.Message(), at); ok {
			return name + "." + below, true
		}
		return name, true
	}
	return "", false
}
