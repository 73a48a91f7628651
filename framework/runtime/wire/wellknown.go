package wire

import (
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The functions of this file read well-known types into protobuf's structs, which views hold by
// value. They merge: fields that are not in the bytes keep their values. Unknown fields are
// dropped.

// Any reads a google.protobuf.Any.
func Any(r *Reader, m *anypb.Any) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Len:
			m.TypeUrl = r.String()
		case 2<<3 | Len:
			m.Value = r.Blob()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// Duration reads a google.protobuf.Duration.
func Duration(r *Reader, m *durationpb.Duration) { seconds(r, &m.Seconds, &m.Nanos) }

// Timestamp reads a google.protobuf.Timestamp.
func Timestamp(r *Reader, m *timestamppb.Timestamp) { seconds(r, &m.Seconds, &m.Nanos) }

func seconds(r *Reader, s *int64, nanos *int32) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case 1<<3 | Varint:
			*s = r.Int64()
		case 2<<3 | Varint:
			*nanos = r.Int32()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}
