package resource

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/xdsforge/xdsforge/internal/printable"
)

func TestPathSpellsOut(t *testing.T) {
	var root *Path
	endpoints := root.Item("endpoints", 3)
	host := endpoints.Item("lb_endpoints", 0)
	leaf := host.Field("health_status")
	if got := leaf.String(); got != "endpoints[3].lb_endpoints[0].health_status" {
		t.Errorf("path = %q", got)
	}
	element := root.Item("", 2)
	if got, below := element.String(), element.Field("x"); got != "[2]" || below.String() != "[2].x" {
		t.Errorf("an element is %q, and below it is %q", got, below.String())
	}
	if got := root.String(); got != "" {
		t.Errorf("root = %q", got)
	}
}

func TestViolationsPrintPathValueAndRule(t *testing.T) {
	var root *Path
	var v Violations
	if v.Err() != nil {
		t.Fatal("no violation, but an error")
	}
	v.Add(root.Field("interval"), -time.Second, "must be at least 0s")
	v.Add(root.Field("name"), "", "must be set")
	v.Add(root.Field("locality"), nil, "must be set")
	v.Add(root.Field("long"), strings.Repeat("x", 1000), "must be short")
	v.Add(Path{}, nil, "must be something")
	err := v.Err()
	want := `interval = -1s; must be at least 0s, and name = ""; must be set, and locality; must be set, and long = "` +
		strings.Repeat("x", maxShown) + `"…; must be short, and must be something`
	if err.Error() != want {
		t.Errorf("error = %s\nwant    %s", err, want)
	}
}

// A value has one violation by AddFirst at most, and none beside others.
func TestFirstViolationsOfValues(t *testing.T) {
	var root *Path
	var v Violations
	v.Add(root.Item("colors", 1), 7, "must be defined")
	v.AddFirst(root.Item("colors", 1), 7, "must be red")
	v.AddFirst(root.Item("colors", 2), 8, "must be red")
	v.AddFirst(root.Item("colors", 2), 8, "must be green")
	v.AddFirst(root.Field("colors"), nil, "must be short")
	v.Add(root.Item("colors", 2), 8, "must be even")
	const want = "colors[1] = 7; must be defined, and colors[2] = 8; must be red, and colors; must be short, and colors[2] = 8; must be even"
	if got := v.Err().Error(); got != want {
		t.Errorf("error = %s\nwant    %s", got, want)
	}
}

func TestNestedViolationsKeepTheirPaths(t *testing.T) {
	var root *Path
	var inner, outer Violations
	inner.Add(root.Field("weight"), 0, "must be at least 1")
	inner.Add(Path{}, nil, "must be whole")
	inner.Add(Path{name: "[key].x"}, 1, "must be even")
	outer.AddError(root.Item("routes", 1), inner.Err())
	outer.AddError(root.Field("policy"), errors.New("unknown"))
	outer.AddError(root.Field("filters"), inner.Err())
	want := "routes[1].weight = 0; must be at least 1, and routes[1]; must be whole, and routes[1].[key].x = 1; must be even, and policy; unknown, and " +
		"filters.weight = 0; must be at least 1, and filters; must be whole, and filters[key].x = 1; must be even"
	if got := outer.Err().Error(); got != want {
		t.Errorf("error = %s\nwant    %s", got, want)
	}
}

func TestViolationsAreBounded(t *testing.T) {
	var root *Path
	var v, w Violations
	for i := range maxViolations + 5 {
		v.Add(root.Item("x", i), i, "must not be")
	}
	w.AddError(root.Field("y"), v.Err())
	w.AddError(root.Field("z"), v.Err())
	var got *ValidationError
	if !errors.As(w.Err(), &got) || len(got.Violations) != maxViolations || got.More != 10+maxViolations {
		t.Errorf("kept %d, and %d more", len(got.Violations), got.More)
	}
	if !strings.HasSuffix(w.Err().Error(), fmt.Sprintf(", and %d more", got.More)) {
		t.Errorf("error = …%s", w.Err().Error()[len(w.Err().Error())-40:])
	}
}

// The path may contain the key of a map, and the rule a parser's error. Both are printable and
// clipped.
func TestViolationsArePrintable(t *testing.T) {
	long := "a\n\xff\x1b" + strings.Repeat("x", 1<<20)
	var root *Path
	var v, w Violations
	v.Add(root.Field(long), long, long)
	v.Add(root.Field("bytes"), []byte(long), "must be kind")
	v.Add(root.Field("error"), errors.New(long), "must be kind")
	v.AddError(root.Field("hook"), errors.New(long))
	v.AddError(root.Field("nested"), &ValidationError{Violations: []Violation{{long, long, long}}})
	w.AddError(root.Field("outer"), v.Err())
	var got *ValidationError
	if !errors.As(w.Err(), &got) || len(got.Violations) != 5 {
		t.Fatalf("got %v; want five violations", w.Err())
	}
	for _, violation := range got.Violations {
		for _, text := range []string{violation.Path, violation.Value, violation.Rule} {
			if len(text) > printable.Quoted+3 || strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
				t.Errorf("a part of %.100q has %d bytes, or characters that are not printable: %.100q", violation.Path, len(text), text)
			}
		}
	}
	if !strings.HasPrefix(got.Violations[0].Path, `outer.a\n\xff\x1bxxx`) {
		t.Errorf("the path is %.100q; want it escaped", got.Violations[0].Path)
	}
}

// Descending without a violation must not allocate, because decoders do it for every element.
func TestPathsStayOnTheStack(t *testing.T) {
	var v Violations
	check := func(p *Path, weight int) {
		if weight < 1 {
			v.Add(p.Field("weight"), weight, "must be at least 1")
		}
	}
	allocs := testing.AllocsPerRun(100, func() {
		var root *Path
		for i := range 10 {
			outer := root.Item("endpoints", i)
			for j := range 10 {
				inner := outer.Item("lb_endpoints", j)
				check(&inner, j+1)
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// The path of an overwritten location is short, but it ends.
func TestPathOfItself(t *testing.T) {
	var p Path
	p = p.Field("a")
	p = p.Field("b")
	if got := p.String(); got != "b" {
		t.Errorf("path = %q", got)
	}
}

// TestLongValues expects values of every kind to be clipped after the same number of bytes.
func TestLongValues(t *testing.T) {
	full := strings.Repeat("x", maxShown)
	for _, tt := range []struct {
		value any
		want  string
	}{
		{full, `"` + full + `"`},
		{full + "x", `"` + full + `"…`},
		{errors.New(full), full},
		{errors.New(full + "x"), full + "…"},
	} {
		var v Violations
		v.Add((*Path)(nil).Field("f"), tt.value, "must be short")
		if want := "f = " + tt.want + "; must be short"; v.Err().Error() != want {
			t.Errorf("a value of %d bytes makes the error %s, want %s", len(fmt.Sprint(tt.value)), v.Err(), want)
		}
	}
}
