package lkg

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsforge/xdsforge/internal/durable"
)

// Names of files. A file of a generation is called by its authority and its sequence number.
const (
	fileSuffix = ".lkg"

	authorityDigits = 16
	sequenceDigits  = 20
)

// ErrUnsafe is in the error of a directory that others could manipulate.
var ErrUnsafe = durable.ErrUnsafe

// A directory has the generations of a store.
type directory struct{ *durable.Dir }

// openDirectory opens a directory, and creates it if it does not exist.
func openDirectory(path string) (*directory, error) {
	d, err := durable.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lkg: %w", err)
	}
	return &directory{d}, nil
}

// files returns the sequence numbers of an authority's generations, the newest first.
func (d *directory) files(prefix string) []uint64 {
	var list []uint64
	for _, name := range d.List() {
		if p, seq, ok := parseName(name); ok && p == prefix {
			list = append(list, seq)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// prefixOfName returns the beginning of the names of an authority's files.
func prefixOfName(authority string) string {
	sum := sha256.Sum256([]byte(authority))
	return hex.EncodeToString(sum[:])[:authorityDigits]
}

func fileName(prefix string, sequence uint64) string {
	return fmt.Sprintf("%s-%0*d%s", prefix, sequenceDigits, sequence, fileSuffix)
}

func parseName(name string) (prefix string, sequence uint64, ok bool) {
	rest, isFile := strings.CutSuffix(name, fileSuffix)
	prefix, digits, found := strings.Cut(rest, "-")
	if !isFile || !found || len(prefix) != authorityDigits || len(digits) != sequenceDigits {
		return "", 0, false
	}
	sequence, err := strconv.ParseUint(digits, 10, 64)
	return prefix, sequence, err == nil
}

// prune removes all but the newest generations of an authority.
func (d *directory) prune(prefix string, keep int) {
	for i, seq := range d.files(prefix) {
		if i >= keep {
			_ = d.Remove(fileName(prefix, seq)) // the next write tries again
		}
	}
}
