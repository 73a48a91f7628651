package statedir

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/durable"
)

// A snapshot is all resources of a source at one time, the content of a file; see [durable.Encode].
type snapshot struct {
	header    header
	resources []source.Resource
	since     time.Time // the resources were current then
}

// magic begins each file, with the version of the format.
const magic = "xdsforge serve state 1\n"

// A header describes a snapshot.
type header struct {
	Source    string   `json:"source"`
	Epoch     string   `json:"epoch"`
	Revision  uint64   `json:"revision"`
	Written   int64    `json:"written"` // Unix time in milliseconds
	Resources int      `json:"resources"`
	Types     []string `json:"types,omitempty"` // records refer to them by position
	durable.Header
}

// maxResources is the limit of the resources in a file.
const maxResources = source.MaxOperations

var errTooLarge = fmt.Errorf("the resources are more than %d, or have more than %d bytes: the limits of a state file", maxResources, MaxBytes)

// encode returns the content of the file.
func (s *snapshot) encode(key []byte) ([]byte, error) {
	var types durable.Table
	size := 0
	for i := range s.resources {
		r := &s.resources[i]
		types.Add(r.Type)
		size += sizeOf(r)
	}
	if size > MaxBytes-maxExtra || len(s.resources) > maxResources {
		return nil, errTooLarge
	}
	h := s.header
	h.Resources, h.Types = len(s.resources), types.List
	return durable.Encode(magic, &h, key, size, func(b []byte) (_ []byte, err error) {
		for i := range s.resources {
			if b, err = appendResource(b, &s.resources[i], &types); err != nil {
				return nil, err
			}
		}
		return b, nil
	})
}

// maxExtra is the limit of the bytes of a file without its records: the magic, the header and the checksum.
const maxExtra = durable.MaxHeader + 256

// sizeOf returns the limit of the bytes of a record, so that no file is written that is too large to be read.
func sizeOf(r *source.Resource) int {
	const field = binary.MaxVarintLen64
	size := len(r.Name) + len(r.Version) + len(r.Body) + 9*field
	for _, a := range r.Aliases {
		size += len(a) + field
	}
	if r.Err != nil {
		size += proto.Size(r.Err)
	}
	return size
}

func appendResource(b []byte, r *source.Resource, types *durable.Table) ([]byte, error) {
	body, failed := r.Body, uint64(0)
	if r.Err != nil {
		var err error
		if body, err = proto.Marshal(r.Err); err != nil {
			return nil, err
		}
		failed = 1
	}
	b = types.Append(b, r.Type)
	b = durable.AppendBytes(b, r.Name)
	b = durable.AppendBytes(b, r.Version)
	b = binary.AppendUvarint(b, uint64(len(r.Aliases)))
	for _, a := range r.Aliases {
		b = durable.AppendBytes(b, a)
	}
	b = durable.AppendTime(b, r.Expires)
	b = binary.AppendVarint(b, int64(r.TTL))
	b = binary.AppendUvarint(b, failed)
	return durable.AppendBytes(b, body), nil
}

// decode reads the content of a file. It accepts nothing of a damaged file. It changes b.
func decode(b, key []byte) (*snapshot, error) {
	s := new(snapshot)
	f, err := durable.Decode(magic, &s.header, key, b)
	if err != nil {
		return nil, err
	}
	n := s.header.Resources
	if n < 0 || n > maxResources || n > len(f.Rest) {
		return nil, durable.ErrRecords
	}
	s.resources = make([]source.Resource, 0, n)
	for range n {
		r, err := readResource(f, s.header.Types)
		if err != nil {
			return nil, err
		}
		s.resources = append(s.resources, r)
	}
	if len(f.Rest) > 0 {
		return nil, durable.ErrRecords
	}
	return s, nil
}

func readResource(f *durable.Fields, types []string) (r source.Resource, err error) {
	r.Type, r.Name, r.Version = f.Of(types), f.Text(), f.Text()
	for range min(f.Number(), source.MaxAliases) {
		r.Aliases = append(r.Aliases, f.Text())
	}
	r.Expires, r.TTL = f.Time(), time.Duration(f.Signed())
	failed := f.Number() == 1
	body := f.Bytes()
	if f.Bad {
		return r, durable.ErrRecords
	}
	if failed {
		r.Err = new(rpcstatus.Status)
		if proto.Unmarshal(body, r.Err) != nil {
			return r, durable.ErrRecords
		}
		return r, nil
	}
	r.Body = append(make([]byte, 0, len(body)), body...) // a body must not keep the others in memory
	return r, nil
}

// messageOf returns the full name of the message of a type URL.
func messageOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }
