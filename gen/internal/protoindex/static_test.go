package protoindex

import (
	"go/parser"
	"testing"
)

func TestEvaluate(t *testing.T) {
	for src, want := range map[string]string{
		`"a" + "b" + "\x00\u00e9"`:         "ab\x00é",
		"`raw` + (\"x\")":                  "rawx",
		`[]byte{0x61, 98, 0b1100011}`:      "abc",
		`string([]byte{0x61}) + "b"`:       "ab",
		`[]byte("abc")`:                    "abc",
		`"" + string([]byte{0x0a, 0xFF,})`: "\n\xff",
		`unsafe.String(x, 3)`:              "!",
		`"a" - "b"`:                        "!",
		`[]byte{256}`:                      "!",
		`[]byte{x}`:                        "!",
		`other`:                            "!",
		`"a" + other`:                      "!",
		`map[string]string{"a": "b"}["a"]`: "!",
		`'a'`:                              "a",
		`append([]byte{0x61}, "b"...)`:     "!",
		`func() string { return "a" }()`:   "!",
	} {
		e, err := parser.ParseExpr(src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := evaluate(nil, e)
		if err != nil {
			got = []byte("!")
		}
		if string(got) != want {
			t.Errorf("evaluate(%s) = %q, %v; want %q", src, got, err, want)
		}
	}
}
