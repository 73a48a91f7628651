package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	rows := []Row{
		{Cells: []Cell{{Text: "a"}, {Text: ""}, {Text: "ACKED", Style: Good}}},
		{Cells: []Cell{{Text: "long name"}, {Text: ""}, {Text: "NACKED", Style: Bad}}, Notes: []Cell{{Text: "one two three four five six seven"}}},
	}
	var b bytes.Buffer
	(&Printer{W: &b, Width: 30}).Table([]string{"NAME", "EMPTY", "STATE"}, rows)
	want := "NAME       STATE\na          ACKED\nlong name  NACKED\n    one two three four five\n    six seven\n"
	if b.String() != want {
		t.Errorf("Table =\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	(&Printer{W: &b, Color: true}).Table([]string{"NAME", "EMPTY", "STATE"}, rows)
	if !strings.Contains(b.String(), "\x1b[32mACKED\x1b[0m") || !strings.Contains(b.String(), "one two three four five six seven") {
		t.Errorf("Table with colours, and without a width =\n%q", b.String())
	}
	b.Reset()
	(&Printer{W: &b}).Table([]string{"NAME"}, nil)
	if b.Len() > 0 {
		t.Errorf("Table without rows = %q; want nothing", b.String())
	}
}

// Text from a control plane cannot change the terminal.
func TestEscape(t *testing.T) {
	const hostile = "a\x1b[2Jb\nc\u202e\xff\u2028"
	var b bytes.Buffer
	p := &Printer{W: &b, Color: true, Width: 80}
	p.Table([]string{"NAME"}, []Row{{Cells: []Cell{{Text: hostile, Style: Bad}}, Notes: []Cell{{Text: hostile}}}})
	p.Println(Plain, "%s", hostile)
	for _, bad := range []string{"\x1b[2J", "\u202e", "\xff", "\u2028"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("output %q has %q", b.String(), bad)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != 4 {
		t.Errorf("output has %d lines; want 4", n)
	}
	if got := Escape("grün ✓"); got != "grün ✓" {
		t.Errorf("Escape of printable text = %q", got)
	}
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 50)
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"a b", 0, []string{"a b"}},
		{"aaaaaaaaaa bbbbbbbbbb cc", 20, []string{"aaaaaaaaaa", "bbbbbbbbbb cc"}},
		{long + " y", 20, []string{long, "y"}},
	} {
		if got := Wrap(tt.text, tt.width); strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("Wrap(%q, %d) = %q; want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// YAML has the fields in the order of the JSON, and texts that look like other values stay texts.
func TestYAML(t *testing.T) {
	got, err := ToYAML(json.RawMessage(`{"z":"true","a":[1,"2",{}],"n":null,"t":"line\nline","e":""}`))
	want := "z: \"true\"\na:\n  - 1\n  - \"2\"\n  - {}\nn: null\nt: |-\n  line\n  line\ne: \"\"\n"
	if err != nil || got != want {
		t.Errorf("ToYAML = %v\n%s\nwant\n%s", err, got, want)
	}
}
