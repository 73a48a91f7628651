package printable_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/xdsforge/xdsforge/internal/printable"
)

func TestText(t *testing.T) {
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"plain", 5, "plain"},
		{"too long", 5, "too l…"},
		{`a\n "b"`, 20, `a\n "b"`},
		{"a\nb\rc\td", 20, `a\nb\rc\td`},
		{"\x1b[31mred\x00\x7f", 40, `\x1b[31mred\x00\x7f`},
		{"\xff\xfe", 20, `\xff\xfe`},
		{"größer", 20, "größer"},
		{"größer", 3, "gr…"}, // the next character has two bytes
		{"\u009b31m\u2028\u202e\u200b\ufeff", 60, `\u009b31m\u2028\u202e\u200b\ufeff`},
		{"ab\n", 3, "ab…"}, // no half escapes
		{"\ufffd", 10, "\ufffd"},
	} {
		got := printable.Text(test.in, test.limit)
		if got != test.want {
			t.Errorf("Text(%q, %d) = %q; want %q", test.in, test.limit, got, test.want)
		}
		if again := printable.Text(got, test.limit); again != got {
			t.Errorf("Text(%q, %d) is %q the second time", got, test.limit, again)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{`a "b"`: `"a \"b\""`, "a\nb": `"a\nb"`, "größer": `"grö…"`, "grö\x00": `"grö\x00"`, "too long": `"too l…"`} {
		if got := printable.Quote(in, 5); got != want {
			t.Errorf("Quote(%q, 5) = %s; want %s", in, got, want)
		}
	}
}

func TestError(t *testing.T) {
	if err := printable.Error(nil); err != nil {
		t.Errorf("Error(nil) = %v", err)
	}
	if err := printable.Error(io.EOF); err != io.EOF { //nolint:errorlint // the very same
		t.Errorf("an error that is printable is another one afterwards: %v", err)
	}
	err := printable.Error(errors.Join(errors.New("\x1b"+strings.Repeat("x", 1<<20)), io.EOF))
	if !errors.Is(err, io.EOF) {
		t.Error("the wrapped error is lost")
	}
	if n := len(err.Error()); n > printable.Whole+3 || !strings.HasPrefix(err.Error(), `\x1bxx`) {
		t.Errorf("the error has %d bytes, and begins with %.10q", n, err.Error())
	}
}

func TestLongTextIsNotCopied(t *testing.T) {
	long := strings.Repeat("\n", 10<<20)
	if n := testing.AllocsPerRun(5, func() { printable.Text(long, printable.Short) }); n > 1000 {
		t.Errorf("%v allocations; want those of the clipped text", n)
	}
	if n := testing.AllocsPerRun(5, func() { printable.Text("a name", printable.Short) }); n != 0 {
		t.Errorf("%v allocations for printable text; want none", n)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\n\xff…\u202e", 4)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 || limit > 1<<16 {
			return
		}
		got := printable.Text(s, limit)
		if len(got) > limit+len("…") || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("Text(%q, %d) = %q", s, limit, got)
		}
		if again := printable.Text(got, limit); again != got {
			t.Errorf("Text(%q, %d) is %q the second time", got, limit, again)
		}
	})
}
