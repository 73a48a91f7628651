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

// Unmarshal merges the message that r would enter into m, for a hook that needs it. It allocates a
// nil m.
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

// errMalformed is the error for malformed bytes about which [proto.Unmarshal] returns no error.
var errMalformed = errors.New("cannot be parsed")

// Encoded appends the encoded message that r would enter to before. Several occurrences are one
// message. It does not decode, but checks every byte. Only m's type is used.
func Encoded(r *Reader, before []byte, m proto.Message) []byte {
	if !r.Check(m) {
		return nil
	}
	ahead := *r
	b := ahead.Bytes()
	if before == nil {
		return b
	}
	return append(before, b...) // appending to before does not overwrite shared bytes
}

// Field returns the encoded message in the field with this number of the encoded message b, or nil
// if there is none. Several occurrences are one message.
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
			out = append(out, r.Bytes()...) // appending to out does not overwrite shared bytes
		}
	}
	return out
}

// maxExplained is the limit of the size of messages that Malformed passes to protobuf for the
// reason, because that takes memory.
const maxExplained = 64 << 10

// Malformed returns the reason why a view could not be read from an encoded message. If the message
// is small, the reason is protobuf's error. It is slow. Only m's type is used.
func Malformed(b []byte, m proto.Message) error {
	if len(b) > maxExplained {
		return errMalformed
	}
	if err := proto.Unmarshal(b, m.ProtoReflect().New().Interface()); err != nil {
		return err
	}
	return errMalformed
}
