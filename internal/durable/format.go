package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxHeader is the limit of the length of a header in bytes.
const MaxHeader = 1 << 20

// The errors of a file that cannot be read. Nothing of such a file is used. See also [ErrKey].
var (
	ErrFormat     = errors.New("not a file of this store, or of another version")
	ErrTruncated  = errors.New("the file is truncated")
	ErrChecksum   = errors.New("the checksum does not match: the file is damaged")
	ErrHeader     = errors.New("the header is malformed")
	ErrHeaderSize = fmt.Errorf("the header exceeds %d bytes", MaxHeader)
	ErrRecords    = errors.New("the records are malformed")
	ErrSealed     = errors.New("the file is encrypted, and no key is set")
	ErrNotSealed  = errors.New("the file is not encrypted, although a key is set")
)

// A Header is the part of a file that is not encrypted, as JSON. Formats embed it.
type Header struct {
	Salt []byte `json:"salt,omitempty"` // set if the records are encrypted
}

func (h *Header) salt() *[]byte { return &h.Salt }

// AnyHeader is a pointer to a header.
type AnyHeader interface{ salt() *[]byte }

// Encode returns a file: the magic, which identifies the format and its version, the length and text of the header, the
// records, and a SHA-256 of all before. With a key, the records are encrypted, and the authentication tag of AES-GCM
// replaces the checksum. The records have about size bytes.
func Encode(magic string, h AnyHeader, key []byte, size int, records func(b []byte) ([]byte, error)) ([]byte, error) {
	var s *Sealer
	*h.salt() = nil
	if len(key) > 0 {
		var err error
		if s, err = NewSealer(key, magic); err != nil {
			return nil, err
		}
		*h.salt() = s.Salt
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxHeader {
		return nil, ErrHeaderSize
	}
	b := make([]byte, 0, len(magic)+binary.MaxVarintLen64+len(text)+size+sha256.Size)
	b = AppendBytes(append(b, magic...), text)
	start := len(b)
	if b, err = records(b); err != nil {
		return nil, err
	}
	if s != nil {
		return s.Seal(b, start), nil
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// Decode reads the header of a file, and returns the fields of its records. It accepts nothing of a damaged file. It
// changes b.
func Decode(magic string, h AnyHeader, key, b []byte) (*Fields, error) {
	if !bytes.HasPrefix(b, []byte(magic)) {
		return nil, ErrFormat
	}
	f := Fields{Rest: b[len(magic):]}
	text := f.Bytes()
	switch {
	case f.Bad:
		return nil, ErrTruncated
	case len(text) > MaxHeader:
		return nil, ErrHeaderSize
	}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, ErrHeader
	}
	start := len(b) - len(f.Rest)
	salt := *h.salt()
	switch sealed := len(salt) > 0; {
	case sealed && len(key) == 0:
		return nil, ErrSealed
	case !sealed && len(key) > 0:
		return nil, ErrNotSealed
	case sealed:
		plain, err := Unseal(b, start, key, salt, magic)
		if err != nil {
			return nil, err
		}
		return &Fields{Rest: plain}, nil
	case len(f.Rest) < sha256.Size:
		return nil, ErrTruncated
	}
	end := len(b) - sha256.Size
	if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
		return nil, ErrChecksum
	}
	return &Fields{Rest: b[start:end]}, nil
}
