package statedir

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/durable"
)

// A snapshot is all resources of a source at one time. A file has the magic, the length and text of the header,
// the records, and a SHA-256 of all before. With a key, the records are encrypted, and the authentication tag of
// AES-GCM replaces the checksum.
type snapshot struct {
	header    header
	resources []source.Resource
	since     time.Time // the resources were current then
}

// magic begins each file, with the version of the format.
const magic = "xdsforge serve state 1\n"

// maxHeader is the limit of the length of a header.
const maxHeader = 1 << 20

// A header describes a snapshot, as JSON.
type header struct {
	Source    string   `json:"source"`
	Epoch     string   `json:"epoch"`
	Revision  uint64   `json:"revision"`
	Written   int64    `json:"written"` // Unix time in milliseconds
	Resources int      `json:"resources"`
	Types     []string `json:"types,omitempty"` // records refer to them by position
	Salt      []byte   `json:"salt,omitempty"`  // set if the records are encrypted
}

var (
	errFormat    = errors.New("not a state file, or of another version")
	errDamaged   = errors.New("the file is damaged")
	errSealed    = errors.New("the file is encrypted, and no key is set")
	errNotSealed = errors.New("the file is not encrypted, although a key is set")
	errTooLarge  = fmt.Errorf("the resources have more than %d bytes, the limit of a state file", MaxBytes)
)

// encode returns the content of the file.
func (s *snapshot) encode(key []byte) ([]byte, error) {
	h := s.header
	h.Resources, h.Types = len(s.resources), nil
	types, size := make(map[string]uint64), 0
	for i := range s.resources {
		r := &s.resources[i]
		if _, ok := types[r.Type]; !ok {
			types[r.Type] = uint64(len(h.Types))
			h.Types = append(h.Types, r.Type)
		}
		size += len(r.Name) + len(r.Version) + len(r.Body) + 64
	}
	if size > MaxBytes {
		return nil, errTooLarge
	}
	var sealer *durable.Sealer
	if len(key) > 0 {
		var err error
		if sealer, err = durable.NewSealer(key, magic); err != nil {
			return nil, err
		}
		h.Salt = sealer.Salt
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(magic)+len(text)+size+sha256.Size+binary.MaxVarintLen64)
	b = appendBytes(append(b, magic...), text)
	start := len(b)
	for i := range s.resources {
		if b, err = appendResource(b, &s.resources[i], types); err != nil {
			return nil, err
		}
	}
	if sealer != nil {
		return sealer.Seal(b, start), nil
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

func appendResource(b []byte, r *source.Resource, types map[string]uint64) ([]byte, error) {
	body := r.Body
	if r.Err != nil {
		var err error
		if body, err = proto.Marshal(r.Err); err != nil {
			return nil, err
		}
	}
	b = binary.AppendUvarint(b, types[r.Type])
	b = appendBytes(b, []byte(r.Name))
	b = appendBytes(b, []byte(r.Version))
	b = binary.AppendUvarint(b, uint64(len(r.Aliases)))
	for _, a := range r.Aliases {
		b = appendBytes(b, []byte(a))
	}
	expires := int64(0)
	if !r.Expires.IsZero() {
		expires = r.Expires.UnixMilli()
	}
	b = binary.AppendVarint(b, expires)
	b = binary.AppendVarint(b, int64(r.TTL))
	failed := uint64(0)
	if r.Err != nil {
		failed = 1
	}
	b = binary.AppendUvarint(b, failed)
	return appendBytes(b, body), nil
}

func appendBytes(b, field []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

// decode reads the content of a file. It accepts nothing of a damaged file. It changes b.
func decode(b, key []byte) (*snapshot, error) {
	if !bytes.HasPrefix(b, []byte(magic)) {
		return nil, errFormat
	}
	f := fields{rest: b[len(magic):]}
	text := f.bytes()
	s := new(snapshot)
	if f.bad || len(text) > maxHeader || json.Unmarshal(text, &s.header) != nil {
		return nil, errDamaged
	}
	start := len(b) - len(f.rest)
	switch sealed := len(s.header.Salt) > 0; {
	case sealed && len(key) == 0:
		return nil, errSealed
	case !sealed && len(key) > 0:
		return nil, errNotSealed
	case sealed:
		plain, err := durable.Unseal(b, start, key, s.header.Salt, magic)
		if err != nil {
			return nil, err
		}
		f.rest = plain
	default:
		end := len(b) - sha256.Size
		if end < start {
			return nil, errDamaged
		}
		if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
			return nil, errDamaged
		}
		f.rest = b[start:end]
	}
	if err := s.records(&f); err != nil {
		return nil, err
	}
	return s, nil
}

// records reads the records of an intact file.
func (s *snapshot) records(f *fields) error {
	n := s.header.Resources
	if n < 0 || n > source.MaxOperations || n > len(f.rest) {
		return errDamaged
	}
	s.resources = make([]source.Resource, 0, n)
	for range n {
		r, err := f.resource(s.header.Types)
		if err != nil {
			return err
		}
		s.resources = append(s.resources, r)
	}
	if len(f.rest) > 0 {
		return errDamaged
	}
	return nil
}

// fields reads the fields of a file. After an error, bad is true and fields are empty.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) resource(types []string) (r source.Resource, err error) {
	if i := f.number(); i < uint64(len(types)) {
		r.Type = types[i]
	} else {
		f.fail()
	}
	r.Name, r.Version = string(f.bytes()), string(f.bytes())
	for range min(f.number(), source.MaxAliases) {
		r.Aliases = append(r.Aliases, string(f.bytes()))
	}
	if ms := f.signed(); ms != 0 {
		r.Expires = time.UnixMilli(ms)
	}
	r.TTL = time.Duration(f.signed())
	failed := f.number() == 1
	body := f.bytes()
	if f.bad {
		return r, errDamaged
	}
	if failed {
		r.Err = new(rpcstatus.Status)
		if proto.Unmarshal(body, r.Err) != nil {
			return r, errDamaged
		}
		return r, nil
	}
	r.Body = append(make([]byte, 0, len(body)), body...) // a body must not keep the others in memory
	return r, nil
}

func (f *fields) number() uint64 {
	v, n := binary.Uvarint(f.rest)
	if n <= 0 {
		f.fail()
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

func (f *fields) signed() int64 {
	v, n := binary.Varint(f.rest)
	if n <= 0 {
		f.fail()
		return 0
	}
	f.rest = f.rest[n:]
	return v
}

func (f *fields) bytes() []byte {
	n := f.number()
	if n > uint64(len(f.rest)) {
		f.fail()
		return nil
	}
	field := f.rest[:n]
	f.rest = f.rest[n:]
	return field
}

func (f *fields) fail() { f.rest, f.bad = nil, true }

// messageOf returns the full name of the message of a type URL.
func messageOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }
