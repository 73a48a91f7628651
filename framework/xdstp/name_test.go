package xdstp

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
)

func load[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return rows
}

type nameRow struct {
	Why, In, Want       string
	Authority, Type, ID string
	Params              [][2]string
	Old                 bool
}

func TestParse(t *testing.T) {
	for _, row := range load[nameRow](t, "names.json") {
		t.Run(row.Why, func(t *testing.T) {
			n, err := Parse(row.In)
			if err != nil {
				t.Fatalf("Parse(%q): %v", row.In, err)
			}
			if n.String() != row.Want {
				t.Errorf("Parse(%q).String() = %q, want %q", row.In, n, row.Want)
			}
			if n.IsXdstp() == row.Old || n.IsZero() {
				t.Errorf("IsXdstp() = %v, IsZero() = %v", n.IsXdstp(), n.IsZero())
			}
			if n.Authority() != row.Authority || n.Type() != row.Type || n.ID() != row.ID {
				t.Errorf("parts = %q, %q, %q; want %q, %q, %q",
					n.Authority(), n.Type(), n.ID(), row.Authority, row.Type, row.ID)
			}
			var params [][2]string
			for key, value := range n.Params() {
				params = append(params, [2]string{key, value})
			}
			if !reflect.DeepEqual(params, row.Params) {
				t.Errorf("Params() = %q, want %q", params, row.Params)
			}
			if again, err := Parse(row.Want); err != nil || again != n {
				t.Errorf("Parse(%q) = %q, %v; want the same name as from %q", row.Want, again, err, row.In)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	type errorRow struct {
		Why, In, Error string
		Suffix         string // hexadecimal, for octets that JSON cannot represent
	}
	for _, row := range load[errorRow](t, "errors.json") {
		t.Run(row.Why, func(t *testing.T) {
			octets, err := hex.DecodeString(row.Suffix)
			if err != nil {
				t.Fatal(err)
			}
			in := row.In + string(octets)
			n, err := Parse(in)
			if !n.IsZero() {
				t.Errorf("Parse(%q) = %q beside an error", in, n)
			}
			if _, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(err.Error(), row.Error) {
				t.Errorf("Parse(%q): %v\nwant %s…", in, err, row.Error)
			}
			if l, err2 := ParseLocator(in); !reflect.DeepEqual(l, Locator{}) || err2 == nil {
				t.Errorf("ParseLocator(%q) = %+v, %v", in, l, err2)
			}
		})
	}
}

func TestMaxLength(t *testing.T) {
	const head = "xdstp://e/t/"
	longest := head + strings.Repeat("i", maxLength-len(head))
	for _, s := range []string{longest, longest[len(head):] + head} {
		if n, err := Parse(s); err != nil || n.String() != s {
			t.Errorf("a name of %d bytes: %v", len(s), err)
		}
		_, err := Parse(s + "i")
		if err == nil || !strings.HasSuffix(err.Error(), "must not be longer than 8192 bytes") {
			t.Errorf("a name of %d bytes: %v", len(s)+1, err)
		}
	}
	// The limit includes directives and the octets that encoding adds.
	if _, err := Parse(longest[:maxLength-4] + "#entry=a"); err == nil {
		t.Error("a long name with a directive is accepted")
	}
	if _, err := Parse(head + strings.Repeat("^", maxLength/3)); err == nil || !strings.HasSuffix(err.Error(), "in canonical form") {
		t.Errorf("a name that is too long once it is encoded: %v", err)
	}
}

func TestErrorsAreShort(t *testing.T) {
	_, err := Parse("xdstp://e/t/" + strings.Repeat("日", 500) + "%zz")
	if err == nil || len(err.Error()) > 250 || !utf8.ValidString(err.Error()) || strings.Contains(err.Error(), `\x`) {
		t.Errorf("the error of a long name is %q", err)
	}
}

func TestShorten(t *testing.T) {
	const limit = 96
	full := strings.Repeat("a", limit)
	for _, tt := range []struct{ why, in, want string }{
		{"short enough", full, full},
		{"one byte too long", full + "b", full + "…"},
		{"a character ends at the limit", full[:limit-2] + "é" + "b", full[:limit-2] + "é…"},
		{"a character of two bytes crosses the limit", full[:limit-1] + "é", full[:limit-1] + "…"},
		{"a character of four bytes crosses the limit by one byte", full[:limit-3] + "😀", full[:limit-3] + "…"},
		{"no character begins near the limit", strings.Repeat("\x80", 2*limit), strings.Repeat("\x80", limit-utf8.UTFMax) + "…"},
	} {
		if got := shorten(tt.in); got != tt.want {
			t.Errorf("%s: shorten(%q) = %q, want %q", tt.why, tt.in, got, tt.want)
		}
	}
}

func TestOpaque(t *testing.T) {
	const s = "xdstp://e/t/i?b=1&a=2#x"
	n, err := Opaque(s)
	if err != nil || n.String() != s || n.IsXdstp() || n.Type() != "" || n.Authority() != "" || n.ID() != s {
		t.Errorf("Opaque(%q) = %+v, %v", s, n, err)
	}
	for range n.Params() {
		t.Error("an opaque name has parameters")
	}
	if _, err := Opaque(""); err == nil {
		t.Error("the empty name is accepted")
	}
	old, _ := Opaque("xdstp://e/t/i")
	if parsed, _ := Parse("xdstp://e/t/i"); parsed == old || parsed.String() != old.String() {
		t.Error("an opaque name equals the new-style name with the same text")
	}
}

func TestCheckType(t *testing.T) {
	const cluster = "envoy.config.cluster.v3.Cluster"
	for _, tt := range []struct{ name, want string }{
		{"checkout", ""},
		{"xdstp://e/" + cluster + "/checkout", ""},
		{"xdstp:///" + cluster + "/*?a=b", ""},
		{"xdstp://e/envoy%2Econfig.cluster.v3.Cluster/checkout", ""},
		{"xdstp://e/" + cluster, `xdstp: id = ""; must not be empty: xdstp://e/envoy.config.cluster.v3.Cluster names no resource`},
		{"xdstp://e/" + cluster + "?a=b", `xdstp: id = ""; must not be empty`},
		{"xdstp://e/" + cluster + "Collection/x", `xdstp: type = "envoy.config.cluster.v3.ClusterCollection"; must be envoy.config.cluster.v3.Cluster,`},
		{"xdstp://e/type.googleapis.com/" + cluster, `xdstp: type = "type.googleapis.com"; must be`},
	} {
		n, err := Parse(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		err = n.CheckType(cluster)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("CheckType of %q: %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := (Name{}).CheckType(cluster); err == nil {
		t.Error("the zero Name fits a type")
	}
}

func TestZeroName(t *testing.T) {
	var n Name
	if !n.IsZero() || n.IsXdstp() || n.IsGlob() || n.IsCollection() || n.Contains(n) {
		t.Error("the zero Name is something")
	}
	if n.String()+n.Authority()+n.Type()+n.ID() != "" {
		t.Error("the zero Name has parts")
	}
}

func TestNameInJSON(t *testing.T) {
	n, err := Parse("xdstp://e/t/i?b=1&a=")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(map[Name]Name{n: n})
	if want := `{"xdstp://e/t/i?a=\u0026b=1":"xdstp://e/t/i?a=\u0026b=1"}`; err != nil || string(got) != want {
		t.Errorf("json.Marshal = %s, %v; want %s", got, err, want)
	}
}

func TestNameSize(t *testing.T) {
	if size := unsafe.Sizeof(Name{}); size > 32 {
		t.Errorf("a Name has %d bytes, want 32 or fewer", size)
	}
}

// ruleOf returns the broken rule from an error of this package.
func ruleOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Rule
	}
	return ""
}
