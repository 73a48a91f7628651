package wire

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// TestWhere names the field at a position in an encoded message. The position is that of a value
// with its length, or that of the content of a message.
func TestWhere(t *testing.T) {
	m := new(testpb.Thing)
	const text = `name: "name" flag: true fixed: 81985529216486895 labels { key: "k" value: "label" } timeout { seconds: 77 }
		part { id: "one" parts { id: "two" } parts { id: "three" aliases: "alias" } } parts { id: "four" } parts { } parts { id: "five" } word: "word"`
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	b = append([]byte{0xf2, 0x3f, 0x03, 'o', 'd', 'd'}, b...) // an unknown field is first
	// before returns the position n bytes before some bytes.
	before := func(n int, part string) int {
		t.Helper()
		at := bytes.Index(b, []byte(part))
		if at < 0 {
			t.Fatalf("%q is not in the message", part)
		}
		return at - n
	}
	for _, tt := range []struct {
		at   int
		want string
	}{
		{-1, ""},
		{0, ""},
		{before(1, "odd"), ""},
		{before(1, "name"), "name"},
		{before(0, "name"), "name"},
		{before(0, "\x01\x61"), "flag"},
		{before(0, "\xef\xcd\xab\x89"), "fixed"},
		{before(1, "\x0a\x01k"), "labels"},
		{before(1, "label"), "labels"},
		{before(1, "\x08\x4d"), "timeout"},
		{before(0, "\x08\x4d"), "timeout"},
		{before(0, "\x4d\x92"), "timeout.seconds"},
		{before(1, "one"), "part.id"},
		{before(1, "two"), "part.parts[0].id"},
		{before(1, "\x0a\x05three"), "part.parts"},
		{before(0, "\x0a\x05three"), "part.parts[1]"},
		{before(1, "alias"), "part.parts[1].aliases"},
		{before(1, "four"), "parts[0].id"},
		{before(1, "five"), "parts[2].id"},
		{before(1, "word"), "word"},
		{len(b) + 1, ""},
	} {
		e := &Excess{at: tt.at}
		if got := e.Where(b, m); got != tt.want {
			t.Errorf("the place %d is %q, want %q", tt.at, got, tt.want)
		}
	}
	if got := (&Excess{at: 3}).Where([]byte{0x1f}, m); got != "" {
		t.Errorf("a place in a malformed message is %q", got)
	}
}

// TestWhereEmpty names a message without content. Its position is that of the next tag.
func TestWhereEmpty(t *testing.T) {
	b, err := proto.Marshal(&testpb.Thing{Parts: []*testpb.Part{{Parts: []*testpb.Part{{}}}, {}}, Choice: &testpb.Thing_Word{Word: "w"}})
	if err != nil {
		t.Fatal(err)
	}
	// 51: { 6: {} }, 51: {}, 70: "w"
	for at, want := range map[int]string{2: "parts", 3: "parts[0]", 4: "parts[0].parts", 5: "parts[0].parts[0]", 8: "parts[1]", 10: "word"} {
		if got := (&Excess{at: at}).Where(b, new(testpb.Thing)); got != want {
			t.Errorf("the place %d is %q, want %q in % x", at, got, want, b)
		}
	}
}
