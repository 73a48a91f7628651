package envelope

import (
	"bytes"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestTruncated compares the verdict on every prefix of a response with protobuf's.
func TestTruncated(t *testing.T) {
	raw := marshal(t, &discoveryv3.DiscoveryResponse{
		VersionInfo: "1", TypeUrl: "x/t", Nonce: "n", Resources: []*anypb.Any{{TypeUrl: "x/t", Value: []byte("body")}},
	})
	for n := range len(raw) + 1 {
		want := proto.Unmarshal(raw[:n], new(discoveryv3.DiscoveryResponse))
		if err := new(Response).Parse(raw[:n], false); (err == nil) != (want == nil) {
			t.Errorf("the first %d of %d bytes: %v, want %v", n, len(raw), err, want)
		}
	}
}

// TestTinyResources parses resources of one to three bytes.
func TestTinyResources(t *testing.T) {
	for _, tiny := range []string{"\x01", "\x0a\x00", "\x0a\x01x"} {
		var r Response
		if err := r.Parse(appendString(nil, responseResources, tiny), true); err != nil || r.Len() != 1 {
			t.Errorf("%q is read as %d resources, %v", tiny, r.Len(), err)
		}
	}
}

// TestLargeValuesInPieces has values that need more than one buffer to be joined.
func TestLargeValuesInPieces(t *testing.T) {
	var raw []byte
	for i := range 5 {
		raw = appendString(raw, responseResources, string(bytes.Repeat([]byte{byte('a' + i)}, joinedRoom*2/3)))
	}
	raw = appendString(raw, responseResources, string(bytes.Repeat([]byte("z"), 3*joinedRoom)))
	var list [][]byte
	for part := range bytes.SplitSeq(raw, []byte("bb")) { // pieces of all lengths, including one byte
		list = append(list, part, []byte("b"), nil, []byte("b"))
	}
	list = list[:len(list)-3]
	whole, pieced := new(Response), new(Response)
	if err := whole.Parse(raw, false); err != nil {
		t.Fatal(err)
	}
	if err := pieced.ParsePieces(list, false); err != nil {
		t.Fatal(err)
	}
	if pieced.Len() != 6 || !reflect.DeepEqual(pieced.resources, whole.resources) {
		t.Errorf("in pieces, the response has %d resources, or different ones", pieced.Len())
	}
}

// TestRoomForSimilarResources expects room for all resources of one size, and for few others.
func TestRoomForSimilarResources(t *testing.T) {
	const resources = 100
	var raw []byte
	for range resources {
		raw = appendString(raw, responseResources, string(bytes.Repeat([]byte("x"), 50)))
	}
	r := new(Response)
	if err := r.Parse(raw, false); err != nil {
		t.Fatal(err)
	}
	if room := cap(r.resources); r.Len() != resources || room < resources || room > resources+2 {
		t.Errorf("%d resources have room for %d, want %d and 0 to 2 more", r.Len(), room, resources)
	}
}

func TestForgetKeepsLittle(t *testing.T) {
	for size, kept := range map[int]bool{1: true, joinedKept: true, joinedKept + 1: false} {
		r := &Response{joined: make([]byte, 0, size)}
		r.Forget()
		if got := cap(r.joined) > 0; got != kept {
			t.Errorf("room of %d bytes is kept: %v, want %v", size, got, kept)
		}
	}
}

// TestPlain expects Plain to recognise the usual encoding of resources and no other.
func TestPlain(t *testing.T) {
	plain := marshal(t, &anypb.Any{TypeUrl: "x/t", Value: []byte("body")})
	swapped := appendString(appendString(nil, anyValue, "body"), anyTypeURL, "x/t")
	for what, tt := range map[string]struct {
		url  string
		in   []byte
		want bool
	}{
		"plain":                  {"x/t", plain, true},
		"another type":           {"x/u", plain, false},
		"in another order":       {"x/t", swapped, false},
		"with more behind":       {"x/t", protowire.AppendVarint(protowire.AppendTag(bytes.Clone(plain), 9, protowire.VarintType), 1), false},
		"cut off":                {"x/t", plain[:len(plain)-1], false},
		"a response of wrappers": {"x/" + wrapperTypeName, marshal(t, &anypb.Any{TypeUrl: "x/" + wrapperTypeName, Value: []byte("body")}), false},
	} {
		raw := appendString(appendString(nil, responseTypeURL, tt.url), responseResources, string(tt.in))
		var r Response
		if err := r.Parse(raw, false); err != nil {
			t.Fatal(err)
		}
		body, ok := r.Plain(0)
		if ok != tt.want || ok && string(body) != "body" {
			t.Errorf("%s: Plain = %q, %v; want %v", what, body, ok, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	const longest = 9223372036 * time.Second
	for _, tt := range []struct {
		seconds int64
		nanos   int32
		want    time.Duration // negative: an error
	}{
		{0, 0, 0},
		{1, 5, time.Second + 5},
		{0, 999_999_999, 999_999_999},
		{0, 1_000_000_000, -1},
		{-1, 0, -1},
		{0, -1, -1},
		{9223372035, 999_999_999, longest - 1},
		{9223372036, 0, longest},
		{9223372036, 999_999_999, longest},
		{1 << 62, 0, longest},
	} {
		got, err := duration(marshal(t, &durationpb.Duration{Seconds: tt.seconds, Nanos: tt.nanos}))
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("%d s and %d ns are %v, %v; want %v", tt.seconds, tt.nanos, got, err, tt.want)
		}
	}
	if d, err := duration([]byte{1 << 3}); err == nil {
		t.Errorf("half a duration is %v", d)
	}
}

// TestFieldsBehindAGroup expects the parser to skip a group and to read the fields after it.
func TestFieldsBehindAGroup(t *testing.T) {
	raw := protowire.AppendTag(nil, 101, protowire.StartGroupType)
	raw = appendString(raw, 1, "skipped")
	raw = protowire.AppendTag(raw, 101, protowire.EndGroupType)
	raw = appendString(raw, responseVersion, "7")
	r := new(Response)
	if err := r.Parse(raw, false); err != nil {
		t.Fatal(err)
	}
	if r.Version != "7" {
		t.Errorf("the version behind a group is %q, want 7", r.Version)
	}
}

// TestDeltaRequestsOfManyNames expects requests to have all names, short and long, with their
// versions.
func TestDeltaRequestsOfManyNames(t *testing.T) {
	names := make([]string, 200)
	short, long := make(map[string]string), make(map[string]string)
	for i := range names {
		names[i] = string(rune('a' + i%26))
		short[names[i]], long[names[i]+names[i]] = "", strings.Repeat("v", 100)
	}
	for what, r := range map[string]*DeltaRequest{
		"subscribe": {Subscribe: names}, "unsubscribe": {Unsubscribe: names},
		"short versions": {Versions: short}, "long versions": {Versions: long},
	} {
		got := new(discoveryv3.DeltaDiscoveryRequest)
		if err := proto.Unmarshal(r.Encode(), got); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if len(got.GetResourceNamesSubscribe()) != len(r.Subscribe) || len(got.GetResourceNamesUnsubscribe()) != len(r.Unsubscribe) ||
			!maps.Equal(got.GetInitialResourceVersions(), r.Versions) {
			t.Errorf("%s: the request has %v", what, got)
		}
	}
}
