package lkg

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/internal/durable"
)

// A generation is all resources of an authority at one time. One file has one generation: magic,
// length and text of the header, the records, and a SHA-256 of all before. With a key, the records
// are encrypted, and the authentication tag of AES-GCM replaces the checksum.
type generation struct {
	header    header
	resources []Resource
}

// magic begins each file, with the version of the format.
const magic = "xdsforge last known good 1\n"

// maxHeader is the limit of the length of a header.
const maxHeader = 1 << 20

// A header describes a generation, as JSON.
type header struct {
	Node      Node   `json:"node"`
	Authority string `json:"authority"`
	Sequence  uint64 `json:"sequence"`
	Written   int64  `json:"written"` // Unix time in milliseconds
	Resources int    `json:"resources"`
	// Salt is set if the records are encrypted.
	Salt []byte `json:"salt,omitempty"`
	// Types and Servers are the names that records refer to by position.
	Types   []string `json:"types,omitempty"`
	Servers []string `json:"servers,omitempty"`
}

var (
	errNotStore   = errors.New("not a file of this store, or of another version")
	errTruncated  = errors.New("the file is truncated")
	errChecksum   = errors.New("the checksum does not match: the file is damaged")
	errSealed     = errors.New("the file is encrypted, and no key is set")
	errNotSealed  = errors.New("the file is not encrypted, although a key is set")
	errRecords    = errors.New("the records are malformed")
	errHeader     = errors.New("the header is malformed")
	errHeaderSize = fmt.Errorf("the header exceeds %d bytes", maxHeader)
)

// Flags of a record.
const flagCollection = 1

// encode returns the content of the file.
func (g *generation) encode(key []byte) ([]byte, error) {
	size := 0
	types, servers := make(map[string]uint64), make(map[string]uint64)
	h := g.header
	h.Types, h.Servers, h.Resources = nil, nil, len(g.resources)
	for i := range g.resources {
		r := &g.resources[i]
		size += int(r.size())
		h.Types = position(types, h.Types, r.Type)
		h.Servers = position(servers, h.Servers, r.Server)
	}
	var s *durable.Sealer
	if len(key) > 0 {
		var err error
		if s, err = durable.NewSealer(key, magic); err != nil {
			return nil, err
		}
		h.Salt = s.Salt
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(text) > maxHeader {
		return nil, errHeaderSize
	}
	b := make([]byte, 0, len(magic)+binary.MaxVarintLen64+len(text)+size+size/16+sha256.Size)
	b = append(b, magic...)
	b = appendBytes(b, text)
	start := len(b)
	for i := range g.resources {
		b = g.resources[i].append(b, types, servers)
	}
	if s != nil {
		return s.Seal(b, start), nil
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// position adds a text to a list if it is not in the index yet.
func position(index map[string]uint64, list []string, text string) []string {
	if _, ok := index[text]; ok {
		return list
	}
	index[text] = uint64(len(list))
	return append(list, text)
}

func (r *Resource) append(b []byte, types, servers map[string]uint64) []byte {
	flags := uint64(0)
	if r.Collection {
		flags |= flagCollection
	}
	b = binary.AppendUvarint(b, flags)
	b = binary.AppendUvarint(b, types[r.Type])
	b = binary.AppendUvarint(b, servers[r.Server])
	b = appendBytes(b, []byte(r.Name))
	b = appendBytes(b, []byte(r.AliasOf))
	b = appendBytes(b, []byte(r.Version))
	b = binary.AppendVarint(b, milliseconds(r.Confirmed))
	b = binary.AppendVarint(b, milliseconds(r.Expires))
	return appendBytes(b, r.Body)
}

func appendBytes(b, field []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

// milliseconds returns the Unix time; 0 is the zero time.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// decodeGeneration reads the content of a file. It accepts nothing of a damaged file. It changes b.
func decodeGeneration(b, key []byte) (*generation, error) {
	if !bytes.HasPrefix(b, []byte(magic)) {
		return nil, errNotStore
	}
	f := fields{rest: b[len(magic):]}
	text := f.bytes(maxHeader)
	if f.bad {
		return nil, errTruncated
	}
	g := new(generation)
	if err := json.Unmarshal(text, &g.header); err != nil {
		return nil, errHeader
	}
	start := len(b) - len(f.rest)
	switch sealed := len(g.header.Salt) > 0; {
	case sealed && len(key) == 0:
		return nil, errSealed
	case !sealed && len(key) > 0:
		return nil, errNotSealed
	case sealed:
		plain, err := durable.Unseal(b, start, key, g.header.Salt, magic)
		if err != nil {
			return nil, err
		}
		f.rest = plain
	default:
		if len(f.rest) < sha256.Size {
			return nil, errTruncated
		}
		end := len(b) - sha256.Size
		if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
			return nil, errChecksum
		}
		f.rest = b[start:end]
	}
	err := g.records(&f)
	return g, err
}

// records reads the records of an intact file.
func (g *generation) records(f *fields) error {
	h := &g.header
	if h.Resources < 0 || h.Resources > maxResources || h.Resources > len(f.rest) {
		return errRecords
	}
	g.resources = make([]Resource, 0, h.Resources)
	for range h.Resources {
		flags := f.number()
		r := Resource{Type: f.of(h.Types), Server: f.of(h.Servers), Collection: flags&flagCollection != 0}
		r.Name, r.AliasOf, r.Version = string(f.bytes(len(f.rest))), string(f.bytes(len(f.rest))), string(f.bytes(len(f.rest)))
		r.Confirmed, r.Expires = timeOf(f.signed()), timeOf(f.signed())
		r.Body = slices.Clone(f.bytes(len(f.rest))) // a body must not keep the others in memory
		if f.bad {
			return errRecords
		}
		g.resources = append(g.resources, r)
	}
	if len(f.rest) > 0 {
		return errRecords
	}
	return nil
}

// fields reads the fields of a file. After an error, bad is true and fields are empty.
type fields struct {
	rest []byte
	bad  bool
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

func (f *fields) bytes(limit int) []byte {
	n := f.number()
	if n > uint64(len(f.rest)) || n > uint64(max(limit, 0)) {
		f.fail()
		return nil
	}
	field := f.rest[:n]
	f.rest = f.rest[n:]
	return field
}

func (f *fields) of(list []string) string {
	i := f.number()
	if i >= uint64(len(list)) {
		f.fail()
		return ""
	}
	return list[i]
}

func (f *fields) fail() { f.rest, f.bad = nil, true }
