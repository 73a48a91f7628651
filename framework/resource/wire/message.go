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

// Unmarshal merges all that r is to read into a message, for a hook that asks for
// it. A nil message is made.
func Unmarshal[T any, M Message[T]](r Reader, m *M) bool {
	if *m == nil {
		*m = new(T)
	}
	// Protobuf counts the message itself.
	o := proto.UnmarshalOptions{Merge: true, RecursionLimit: int(r.depth) + 1}
	return r.OK() && o.Unmarshal(r.Rest(), *m) == nil
}

// errMalformed is the error about bytes of which [proto.Unmarshal] has none to say.
var errMalformed = errors.New("cannot be parsed")

// Malformed says what is wrong with an encoded message that a view could not be
// read from, in protobuf's words. It takes its time. Only the type of m counts.
func Malformed(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m.ProtoReflect().New().Interface()); err != nil {
		return err
	}
	return errMalformed
}
