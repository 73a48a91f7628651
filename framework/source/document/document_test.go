package document_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/xdsforge/xdsforge/framework/source/document"
)

// flat returns all values of a document with their positions.
func flat(n *document.Node) string {
	at := fmt.Sprintf("%d:%d", n.Line, n.Column)
	if n.Kind == document.Scalar {
		return at + " " + n.Text
	}
	var parts []string
	for i, v := range n.Values {
		if n.Kind == document.Mapping {
			parts = append(parts, fmt.Sprintf("%d:%d %s = %s", n.Keys[i].Line, n.Keys[i].Column, n.Key(i), flat(v)))
		} else {
			parts = append(parts, flat(v))
		}
	}
	return at + " (" + strings.Join(parts, ", ") + ")"
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text, want string
		json       bool
	}{
		{text: "a: 1\nb:\n- x\n- true\n", want: `1:1 (1:1 a = 1:4 1, 2:1 b = 3:1 (3:3 "x", 4:3 true))`},
		{text: "a: 0x10\nb: 1.5\nc: ~\nd: '1'\ne: .inf\n", want: `1:1 (1:1 a = 1:4 16, 2:1 b = 2:4 1.5, 3:1 c = 3:4 null, 4:1 d = 4:4 "1", 5:1 e = 5:4 "Infinity")`},
		{text: "a: &x [1]\nb: *x\n", want: `1:1 (1:1 a = 1:4 (1:8 1), 2:1 b = 1:4 (1:8 1))`},
		{text: "<<: {a: 1, b: 2}\nb: 3\n", want: `1:1 (2:1 b = 2:4 3, 1:6 a = 1:9 1)`},
		{text: "<<: [{a: 1, b: 2}, {b: 3, c: 4}]\nc: 5\n", want: `1:1 (2:1 c = 2:4 5, 1:7 a = 1:10 1, 1:13 b = 1:16 2)`},
		{text: "[-.inf, .nan, 1.7976931348623157e308, -1.7976931348623157e308]", want: `1:1 (1:2 "-Infinity", 1:9 "NaN", 1:15 1.7976931348623157e+308, 1:39 -1.7976931348623157e+308)`},
		{text: "[18446744073709551615, -9223372036854775808, false]", want: `1:1 (1:2 18446744073709551615, 1:24 -9223372036854775808, 1:46 false)`},
		{text: "!!binary aG k=", want: `1:1 "aGk="`},
		{text: "# only a comment\n", want: ""},
		{text: "a\n---\n\n---\nb\n", want: "1:1 \"a\"\n5:1 \"b\""},
		{json: true, text: "{\"a\": 1,\n \"b\": [\"x\", true]}", want: `1:1 (1:2 a = 1:7 1, 2:2 b = 2:7 (2:8 "x", 2:13 true))`},
		{json: true, text: `{"😀": "\ud83d\ude00", "z": null}`, want: `1:1 (1:2 😀 = 1:7 "😀", 1:23 z = 1:28 null)`},
		{json: true, text: "1 2", want: "1:1 1\n1:3 2"},
	} {
		docs, err := document.ParseYAML(strings.NewReader(test.text))
		if test.json {
			docs, err = document.ParseJSON([]byte(test.text))
		}
		var got []string
		for _, d := range docs {
			got = append(got, flat(d))
		}
		if text := strings.Join(got, "\n"); err != nil || text != test.want {
			t.Errorf("%s: %s, error %v; want %s", test.text, text, err, test.want)
		}
	}
}

// The documents before an error are returned, and each error has a position.
func TestErrors(t *testing.T) {
	deep := strings.Repeat("[", document.MaxDepth+2) + strings.Repeat("]", document.MaxDepth+2)
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for _, test := range []struct {
		text, want string
		json       bool
		docs       int
	}{
		{text: "a: 1\n---\n? [x]\n: 1\n", want: "3:3 a key must be text", docs: 1},
		{text: "<<: 1\n", want: "1:5 a merge key needs a mapping"},
		{text: "<<: [{a: 1}, 2]\n", want: "1:14 a merge key needs a mapping"},
		{text: "!!binary a", want: "1:1 illegal base64 data"},
		{text: "!!bool x", want: "1:1 "},
		{text: "!!int x", want: "1:1 "},
		{text: "!!float x", want: "1:1 "},
		{text: deep, want: "1:202 the values are nested deeper than 200 levels"},
		{text: laughs, want: "7:25 the document has more than 4000000 values"},
		{text: "a: [\n", want: "2:1 "},
		{json: true, text: deep, want: "1:202 the values are nested deeper than 200 levels"},
		{json: true, text: "{\"a\":\n x}", want: "2:2 invalid character 'x'"},
		{json: true, text: "{\"a\": [", want: "1:8 unexpected end of the file"},
		{json: true, text: "1\n}", want: "2:1 invalid character '}'", docs: 1},
	} {
		docs, err := document.ParseYAML(strings.NewReader(test.text))
		if test.json {
			docs, err = document.ParseJSON([]byte(test.text))
		}
		at, ok := errors.AsType[*document.Error](err)
		if !ok {
			t.Errorf("%.50s: error %v without a position", test.text, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", at.Line, at.Column, at.Text); len(docs) != test.docs || !strings.HasPrefix(got, test.want) {
			t.Errorf("%.50s: %d documents, error %s; want %d and %s", test.text, len(docs), got, test.docs, test.want)
		}
	}
}

func TestNode(t *testing.T) {
	docs, err := document.ParseYAML(strings.NewReader("a:\n- {fooBar: x}\n- {wrap: {deep: y}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	n := docs[0]
	for path, want := range map[string]string{
		"": "1:1", "a[0].foo_bar": "2:12", "a[1].deep": "3:17", "a[7].x": "2:1", "b": "1:1", `a[0]["fooBar"]`: "2:12", "a[x": "2:1",
	} {
		if at := n.At(path); fmt.Sprintf("%d:%d", at.Line, at.Column) != want {
			t.Errorf("At(%s) = %d:%d, want %s", path, at.Line, at.Column, want)
		}
	}
	y := n.Holding("y")
	if path := n.PathOf(y); path != "a[1].wrap.deep" {
		t.Errorf("PathOf = %s, want a[1].wrap.deep", path)
	}
	if n.Holding("z") != nil || n.Get("b", "c") != nil || (*document.Node)(nil).Get("a") != nil {
		t.Error("a value that the document lacks is found")
	}
	if rest := n.Without(n.Get("b", "a")); len(rest.Keys) != 0 || len(n.Keys) != 1 {
		t.Errorf("%d and %d keys, want 0 and 1", len(rest.Keys), len(n.Keys))
	}
}

// The time of a large document grows with its bytes: with their square, each of these takes minutes.
func TestLargeDocuments(t *testing.T) {
	const n = 60_000
	var merged strings.Builder
	merged.WriteString("a: &a\n")
	for i := range n {
		fmt.Fprintf(&merged, "  k%d: 1\n", i)
	}
	merged.WriteString("b:\n  <<: [*a, *a]\n  k0: 2\n")
	for _, text := range []string{
		"[" + strings.Repeat(`{"größe": [1, 2, 3]}, `, n) + `"end"]`, // one line
		merged.String(),
	} {
		start := time.Now()
		docs, err := document.ParseYAML(strings.NewReader(text))
		if text[0] == '[' {
			docs, err = document.ParseJSON([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%d bytes take %v", len(text), d)
		}
		if end := docs[0].Holding("end"); text[0] == '[' && end.Column != utf8.RuneCountInString(text)-len(`end"]`) {
			t.Errorf("the last value is in column %d", end.Column)
		}
		if b := docs[0].Get("b"); text[0] != '[' && (len(b.Keys) != n || b.Get("k0").Text != "2") {
			t.Errorf("%d keys, k0 = %v", len(b.Keys), b.Get("k0"))
		}
	}
}

// No text makes the parsers panic, and each value has a position.
func FuzzParse(f *testing.F) {
	f.Add("a: &a [1, *a]\n<<: {x: y}\n---\n!!binary aGk=", "a[0].x")
	f.Add(`{"a": [1, "\ud83d", {}]}`, `a["b"]`)
	f.Fuzz(func(t *testing.T, text, path string) {
		yaml, err := document.ParseYAML(strings.NewReader(text))
		if at, ok := errors.AsType[*document.Error](err); err != nil && (!ok || at.Line < 1 || at.Column < 1 || at.Text == "") {
			t.Errorf("YAML: error %+v without a position or a text", err)
		}
		json, err := document.ParseJSON([]byte(text))
		if at, ok := errors.AsType[*document.Error](err); err != nil && (!ok || at.Line < 1 || at.Column < 1 || at.Text == "") {
			t.Errorf("JSON: error %+v without a position or a text", err)
		}
		for _, d := range append(yaml, json...) {
			if at := d.At(path); at == nil || at.Line < 1 || at.Column < 1 {
				t.Errorf("At(%s) = %+v", path, at)
			}
		}
	})
}

func Example() {
	docs, err := document.ParseYAML(strings.NewReader("name: checkout\ntype: EDS\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	name := docs[0].Get("name")
	fmt.Println(name, name.Line, name.Column)
	// Output: checkout 1 7
}
