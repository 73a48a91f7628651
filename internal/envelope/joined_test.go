package envelope

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestTakeJoinsManyValues expects values that lie in several pieces to be right, also when the
// room that they share is over, and to stay right when later ones are read.
func TestTakeJoinsManyValues(t *testing.T) {
	const n = 6000 // two and a half times 6000 bytes is the room
	data := make([]byte, 5*n)
	for i := range data {
		data[i] = byte(i % 251)
	}
	p := &pieces{others: slices.Collect(slices.Chunk(data, 1000)), left: len(data)}
	var values [][]byte
	for range 5 {
		v, err := p.take(n)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if got := slices.Concat(values...); !bytes.Equal(got, data) {
		t.Errorf("the %d bytes of 5 values are not those of the pieces", len(got))
	}
	if _, err := p.take(1); !errors.Is(err, errTruncated) {
		t.Errorf("a byte more is %v, want %v", err, errTruncated)
	}
}

// TestLongPartsOfDeltaRequests encodes requests of which one part is much longer than the others.
func TestLongPartsOfDeltaRequests(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, r := range map[string]*DeltaRequest{
		"type": {TypeURL: long}, "nonce": {Nonce: long}, "error": {Error: long}, "node": {Node: []byte(long)},
	} {
		if b := r.Encode(); !bytes.Contains(b, []byte(long)) {
			t.Errorf("a request with a long %s lacks it: % x", name, b)
		}
	}
}
