package envelope

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestTakeJoinsManyValues expects values in several pieces to be joined correctly. They share a
// buffer, and stay correct after it is full and after later values are read.
func TestTakeJoinsManyValues(t *testing.T) {
	const n = 6000 // 2.5 times 6000 bytes fill the buffer
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

// TestLongPartsOfDeltaRequests encodes requests in which one part is much longer than the others.
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
