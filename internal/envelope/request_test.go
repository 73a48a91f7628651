package envelope

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Encoding a request allocates once, whichever of its fields is large.
func TestRequestsAreAllocatedOnce(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	few := []string{"a", "b", "c"}
	names := slices.Repeat(few, 1000)
	for what, r := range map[string]*Request{
		"empty":    {},
		"version":  {Version: long},
		"node":     {Node: []byte(long)},
		"type":     {TypeURL: long},
		"nonce":    {Nonce: long},
		"encoded":  {Encoded: []byte(long)},
		"names":    {Names: names},
		"everyone": {Version: long, Node: []byte(long), TypeURL: long, Nonce: long, Encoded: []byte(long), Names: names},
	} {
		if n := testing.AllocsPerRun(10, func() { r.Encode() }); n > 1 {
			t.Errorf("%s: %v allocations, want 1", what, n)
		}
	}
	rejection := &Request{Error: long}
	room := make([]byte, 0, 2*len(long))
	status := testing.AllocsPerRun(10, func() { appendError(room, requestError, long) })
	if n := testing.AllocsPerRun(10, func() { rejection.Encode() }); n > status+1 {
		t.Errorf("error: %v allocations, want one beside the %v of the status", n, status)
	}
	if n := testing.AllocsPerRun(10, func() { EncodeNames(names) }); n > 1 {
		t.Errorf("names: %v allocations, want 1", n)
	}
	if b := EncodeNames(names); cap(b) > len(b)+len(b)/4 {
		t.Errorf("%d names take %d bytes of %d", len(names), len(b), cap(b))
	}
}

// Encoded names produce the same request as the names.
func TestEncodedNames(t *testing.T) {
	names := []string{"a", strings.Repeat("b", 200), "*"}
	r := Request{Version: "1", TypeURL: "t", Nonce: "n"}
	r.Names = names
	want := r.Encode()
	r.Names, r.Encoded = nil, EncodeNames(names)
	if got := r.Encode(); !bytes.Equal(got, want) {
		t.Errorf("request = %q, want %q", got, want)
	}
}

// Callers may stop an iteration over a response.
func TestIterationsEndEarly(t *testing.T) {
	removed := appendString(nil, deltaResponseRemoved, "a")
	removed = appendString(removed, deltaResponseRemoved, "b")
	name := string(appendString(nil, resourceNameName, "c"))
	removed = appendString(removed, deltaResponseRemovedNames, name)
	fault := string(appendString(nil, resourceErrorName, name))
	raw := appendString(removed, deltaResponseErrors, fault)
	raw = appendString(raw, deltaResponseErrors, fault)
	r, err := ParseDeltaResponse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if all := slices.Collect(r.Removed()); !slices.Equal(all, []string{"a", "b", "c"}) {
		t.Errorf("removed = %q, want a, b and c", all)
	}
	for stop := range 3 {
		n := 0
		for range r.Removed() {
			n++
			if n > stop {
				break
			}
		}
		if n != stop+1 {
			t.Errorf("%d removed, want %d", n, stop+1)
		}
	}
	n := 0
	for e := range r.Errors() {
		n++
		if e.Name != "c" {
			t.Errorf("error = %+v, want that of c", e)
		}
		break
	}
	if n != 1 || len(slices.Collect(r.Errors())) != 2 {
		t.Errorf("%d errors before the iteration ended, want 1 of 2", n)
	}
	if !r.Delta() || r.Size() != 0 {
		t.Errorf("delta = %v, size = %d; want a delta response without resources", r.Delta(), r.Size())
	}
}
