package envelope

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
)

// said has all fields of a response.
func said(r *Response) (all []any) {
	all = append(all, r.Version, r.TypeURL, r.Nonce)
	for i := range r.Len() {
		body, ok := r.Plain(i)
		all = append(all, bytes.Clone(body), ok)
	}
	for res := range r.Resources() {
		res.Body = bytes.Clone(res.Body)
		all = append(all, res)
	}
	for name := range r.Removed() {
		all = append(all, name)
	}
	for e := range r.Errors() {
		all = append(all, e)
	}
	return all
}

// cut splits a message into pieces of at most the given length, some of them empty.
func cut(random *rand.Rand, raw []byte, most int) (list [][]byte) {
	for len(raw) > 0 {
		n := min(random.IntN(most+1), len(raw))
		list, raw = append(list, raw[:n:n]), raw[n:]
	}
	return list
}

// The pieces of a message change neither its content nor its verdict.
func TestPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var raw []byte
	raw = appendString(raw, responseVersion, "1")
	for range 20 {
		raw = protowire.AppendTag(raw, responseResources, protowire.BytesType)
		raw = protowire.AppendBytes(raw, marshal(t, &anypb.Any{TypeUrl: "type.example/t", Value: bytes.Repeat([]byte("v"), random.IntN(400))}))
	}
	raw = protowire.AppendTag(raw, 3, protowire.VarintType)
	raw = protowire.AppendVarint(raw, 1<<60)
	raw = protowire.AppendTag(raw, 100, protowire.Fixed64Type)
	raw = protowire.AppendFixed64(raw, 1)
	raw = protowire.AppendTag(raw, 101, protowire.StartGroupType)
	raw = appendString(raw, 1, strings.Repeat("g", 300))
	raw = protowire.AppendTag(raw, 101, protowire.EndGroupType)
	raw = appendString(raw, deltaResponseRemoved, "removed")
	raw = appendString(raw, responseTypeURL, "type.example/t")
	raw = appendString(raw, responseResources, "")
	raw = appendString(raw, responseNonce, "nonce")
	var r Response
	for round := range 3000 {
		delta := round%2 == 0
		message := slices.Clone(raw)
		switch round % 5 {
		case 1:
			message = message[:random.IntN(len(message))]
		case 2:
			message[random.IntN(len(message))] = byte(random.IntN(256))
		}
		whole := new(Response)
		wantErr := whole.Parse(message, delta)
		err := r.ParsePieces(cut(random, message, 1+random.IntN(100)), delta)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("round %d: in pieces: %v; whole: %v", round, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(said(&r), said(whole)) {
			t.Fatalf("round %d: parsed in pieces:\n%v\nparsed as a whole:\n%v", round, said(&r), said(whole))
		}
		r.Forget()
	}
}

// The parser does not copy a value that lies in one piece or in few.
func TestPiecesAreNotJoined(t *testing.T) {
	value := bytes.Repeat([]byte("v"), 100)
	resource := marshal(t, &anypb.Any{TypeUrl: "t", Value: value})
	raw := appendString(nil, responseTypeURL, "t")
	for range 100 {
		raw = protowire.AppendTag(raw, responseResources, protowire.BytesType)
		raw = protowire.AppendBytes(raw, resource)
	}
	var r Response
	if err := r.ParsePieces([][]byte{raw[:5000:5000], raw[5000:]}, false); err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] = 0
	}
	kept := 0
	for i := range r.Len() {
		if bytes.Contains(r.resources[i], value) {
			kept++
		}
	}
	if kept > 1 {
		t.Errorf("%d of 100 resources were copied, want at most that between the pieces", kept)
	}
}
