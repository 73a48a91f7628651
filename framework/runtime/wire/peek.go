package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Unparseable returns a decoder's error for bytes that are not the message.
func Unparseable(message string, err error) error {
	return fmt.Errorf("not a %s: %w", message, err)
}

// PeekString reads one string field of an encoded message without decoding the rest. As in
// protobuf, the last occurrence wins, and a missing field is the empty string. The string shares the
// memory of body.
func PeekString(body []byte, number protowire.Number) (string, error) {
	var found []byte
	for len(body) > 0 {
		num, typ, n := protowire.ConsumeTag(body)
		if n < 0 {
			return "", protowire.ParseError(n)
		}
		body = body[n:]
		if num == number && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(body)
			if n < 0 {
				return "", protowire.ParseError(n)
			}
			found, body = v, body[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, body); n < 0 {
			return "", protowire.ParseError(n)
		}
		body = body[n:]
	}
	return text(found), nil
}
