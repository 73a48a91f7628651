package wire

import (
	"errors"

	"google.golang.org/protobuf/proto"
)

// A Message is a pointer to a message that protoc-gen-go made.
type Message[T any] interface {
	*T
	proto.Message
}

// Unmarshal merges the message that r would enter into m, for a hook that asks for it.
// A nil m is made.
func Unmarshal[T any, M Message[T]](r *Reader, m *M) {
	outer := r.Enter()
	Whole(r, m)
	r.Leave(outer)
}

// Whole is [Unmarshal] of the message that r has just entered. It reads nothing.
func Whole[T any, M Message[T]](r *Reader, m *M) {
	if *m == nil {
		*m = new(T)
	}
	if !r.OK() {
		return
	}
	if r.budget != nil && !r.budget.messages(r.Rest(), *m, r.at) {
		r.fail()
		return
	}
	// Protobuf counts the message itself.
	o := proto.UnmarshalOptions{Merge: true, RecursionLimit: int(r.depth) + 1}
	if o.Unmarshal(r.Rest(), *m) != nil {
		r.fail()
	}
}

// errMalformed is the error about bytes of which [proto.Unmarshal] has none to say.
var errMalformed = errors.New("cannot be parsed")

// Encoded adds the encoded message that r would enter to what there is of it; several
// occurrences are one message. It reads nothing, but every byte must be sound. Of m,
// only the type counts.
func Encoded(r *Reader, before []byte, m proto.Message) []byte {
	if !r.Check(m) {
		return nil
	}
	ahead := *r
	b := ahead.Bytes()
	if before == nil {
		return b
	}
	return append(before, b...) // which has no room, or is ours
}

// Field is the encoded message in the field with a number of the encoded message b,
// nil where there is none. Several occurrences are one message.
func Field(b []byte, number uint32) []byte {
	var out []byte
	r := Read(b)
	for r.Next() {
		switch {
		case r.Tag() != number<<3|Len:
			r.Skip()
		case out == nil:
			out = r.Bytes()
		default:
			out = append(out, r.Bytes()...) // which has no room, or is ours
		}
	}
	return out
}

// maxExplained is the size of the largest message for which protobuf is asked for the
// reason why it cannot be parsed: that takes memory.
const maxExplained = 64 << 10

// Malformed says what is wrong with an encoded message that a view could not be
// read from, in protobuf's words if it is not large. It takes its time. Only the type of
// m counts.
func Malformed(b []byte, m proto.Message) error {
	if len(b) > maxExplained {
		return errMalformed
	}
	if err := proto.Unmarshal(b, m.ProtoReflect().New().Interface()); err != nil {
		return err
	}
	return errMalformed
}
