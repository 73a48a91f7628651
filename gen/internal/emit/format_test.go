package emit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Long lines are broken behind operators, behind commas, and between the words of strings.
func TestShort(t *testing.T) {
	long := strings.Repeat("long", 20)
	for _, c := range []struct{ source, want string }{
		{"\tf(a, b)\n", "\tf(a, b)\n"},
		{"\tf(" + long + ", " + long[:31] + ")\n", "\tf(" + long + ", " + long[:31] + ")\n"}, // 120 columns
		{"\tf(" + long + ", " + long[:32] + ")\n", "\tf(" + long + ",\n\t\t" + long[:32] + ")\n"},
		{"\tif " + long + " && f(a, b) && g(" + long + ", c) {\n", "\tif " + long + " && f(a, b) &&\n\t\tg(" + long + ", c) {\n"},
		{"func f(a " + long + ", b " + long + ") (int, error) {\n", "func f(a " + long + ",\n\tb " + long + ") (int, error) {\n"},
		{"\tf(g(a, b), \"" + long + " " + long + "\")\n", "\tf(g(a, b),\n\t\t\"" + long + " \"+\n\t\t\"" + long + "\")\n"},
		{"\t// " + long + long + "\n", "\t// " + long + long + "\n"},
	} {
		if got := string(short([]byte(c.source))); strings.ReplaceAll(got, "\" +\n", "\"+\n") != c.want {
			t.Errorf("short(%q) = %q; want %q", c.source, got, c.want)
		}
	}
}

// The generated packages have no long lines but imports, and no line that has a chain of getters twice.
func TestReadable(t *testing.T) {
	files, err := filepath.Glob("../outputtest/*/*_gen*.go")
	plain, err2 := filepath.Glob("../outputtest/*/*.gen.go")
	if files = append(files, plain...); err != nil || err2 != nil || len(files) < 100 {
		t.Fatalf("%d files, %v, %v", len(files), err, err2)
	}
	chain := regexp.MustCompile(`\b\w+(?:\.Get\w+\(\)){2,}`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if len(strings.ReplaceAll(line, "\t", "    ")) > 120 && !strings.HasSuffix(line, "/v3\"") {
				t.Errorf("%s:%d has more than 120 columns", file, i+1)
			}
			for _, c := range chain.FindAllString(line, -1) {
				if parts := strings.Split(c, "."); strings.Count(line, strings.Join(parts[:3], ".")) > 1 {
					t.Errorf("%s:%d has %s twice", file, i+1, c)
				}
			}
		}
	}
}

func TestBlank(t *testing.T) {
	const source = `package p

func decode(dc, meta *T, p *T, m *T) {
	m := m.Get(dc.meta)
	use(func(p *T) {}, m)
}

func (u *T) none(u2 T, v int) {}
`
	const want = `package p

func decode(dc, _ *T, p *T, m *T) {
	m := m.Get(dc.meta)
	use(func(p *T) {}, m)
}

func (u *T) none(_ T, _ int) {}
`
	if got, err := blank([]byte(source)); err != nil || string(got) != want {
		t.Errorf("blank() = %v\n%s", err, got)
	}
	if _, err := blank([]byte("no source")); err == nil {
		t.Error("blank() accepted text that is not Go")
	}
}
