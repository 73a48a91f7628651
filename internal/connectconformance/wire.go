package main

import (
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields in the messages between the runner and the programs under test.
const (
	serverVersion protowire.Number = 2 // of ServerCompatRequest
	serverPort    protowire.Number = 2 // of ServerCompatResponse
	clientVersion protowire.Number = 2 // of ClientCompatRequest
	clientPort    protowire.Number = 7
)

// maxMessage is the limit of a message of the runner.
const maxMessage = 64 << 20

// readMessage reads a message after its length.
func readMessage(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxMessage {
		return nil, fmt.Errorf("the length of a message is %d; must be at most %d", n, maxMessage)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// writeMessage writes a message after its length.
func writeMessage(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)) //nolint:gosec // readMessage limits the length
	return err
}

// number returns the value of a varint field, which is 0 if the message lacks it.
func number(message []byte, field protowire.Number) (value uint64, err error) {
	err = fields(message, func(n protowire.Number, t protowire.Type, _, content []byte) {
		if n == field && t == protowire.VarintType {
			value, _ = protowire.ConsumeVarint(content)
		}
	})
	return value, err
}

// replaced returns a message with another value of a varint field.
func replaced(message []byte, field protowire.Number, value uint64) (out []byte, err error) {
	err = fields(message, func(n protowire.Number, _ protowire.Type, whole, _ []byte) {
		if n != field {
			out = append(out, whole...)
		}
	})
	return protowire.AppendVarint(protowire.AppendTag(out, field, protowire.VarintType), value), err
}

// fields calls f for each field of a message, with the bytes of the field and those after its tag.
func fields(message []byte, f func(n protowire.Number, t protowire.Type, whole, content []byte)) error {
	for len(message) > 0 {
		n, t, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		length := protowire.ConsumeFieldValue(n, t, message[tag:])
		if length < 0 {
			return protowire.ParseError(length)
		}
		f(n, t, message[:tag+length], message[tag:tag+length])
		message = message[tag+length:]
	}
	return nil
}
