package lkg

import (
	"encoding/binary"
	"slices"

	"github.com/xdsforge/xdsforge/internal/durable"
)

// A generation is all resources of an authority at one time. One file has one generation; see [durable.Encode].
type generation struct {
	header    header
	resources []Resource
}

// magic begins each file, with the version of the format.
const magic = "xdsforge last known good 1\n"

// A header describes a generation.
type header struct {
	Node      Node   `json:"node"`
	Authority string `json:"authority"`
	Sequence  uint64 `json:"sequence"`
	Written   int64  `json:"written"` // Unix time in milliseconds
	Resources int    `json:"resources"`
	durable.Header
	// Types and Servers are the names that records refer to by position.
	Types   []string `json:"types,omitempty"`
	Servers []string `json:"servers,omitempty"`
}

// Flags of a record.
const flagCollection = 1

// encode returns the content of the file.
func (g *generation) encode(key []byte) ([]byte, error) {
	size := 0
	var types, servers durable.Table
	for i := range g.resources {
		r := &g.resources[i]
		size += int(r.size())
		types.Add(r.Type)
		servers.Add(r.Server)
	}
	h := g.header
	h.Types, h.Servers, h.Resources = types.List, servers.List, len(g.resources)
	return durable.Encode(magic, &h, key, size+size/16, func(b []byte) ([]byte, error) {
		for i := range g.resources {
			b = g.resources[i].append(b, &types, &servers)
		}
		return b, nil
	})
}

func (r *Resource) append(b []byte, types, servers *durable.Table) []byte {
	flags := uint64(0)
	if r.Collection {
		flags |= flagCollection
	}
	b = binary.AppendUvarint(b, flags)
	b = types.Append(b, r.Type)
	b = servers.Append(b, r.Server)
	b = durable.AppendBytes(b, r.Name)
	b = durable.AppendBytes(b, r.AliasOf)
	b = durable.AppendBytes(b, r.Version)
	b = durable.AppendTime(b, r.Confirmed)
	b = durable.AppendTime(b, r.Expires)
	return durable.AppendBytes(b, r.Body)
}

// decodeGeneration reads the content of a file. It accepts nothing of a damaged file. It changes b.
func decodeGeneration(b, key []byte) (*generation, error) {
	g := new(generation)
	f, err := durable.Decode(magic, &g.header, key, b)
	if err != nil {
		return nil, err
	}
	err = g.records(f)
	return g, err
}

// records reads the records of an intact file.
func (g *generation) records(f *durable.Fields) error {
	h := &g.header
	if h.Resources < 0 || h.Resources > maxResources || h.Resources > len(f.Rest) {
		return durable.ErrRecords
	}
	g.resources = make([]Resource, 0, h.Resources)
	for range h.Resources {
		flags := f.Number()
		r := Resource{Type: f.Of(h.Types), Server: f.Of(h.Servers), Collection: flags&flagCollection != 0}
		r.Name, r.AliasOf, r.Version = f.Text(), f.Text(), f.Text()
		r.Confirmed, r.Expires = f.Time(), f.Time()
		r.Body = slices.Clone(f.Bytes()) // a body must not keep the others in memory
		if f.Bad {
			return durable.ErrRecords
		}
		g.resources = append(g.resources, r)
	}
	if len(f.Rest) > 0 {
		return durable.ErrRecords
	}
	return nil
}
