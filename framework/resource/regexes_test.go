package resource

import (
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"testing"
)

func (t *regexes) size() int {
	n := 0
	t.known.Range(func(any, any) bool { n++; return true })
	return n
}

// An expression is compiled once while it is in use, and then removed.
func TestRegexpIsShared(t *testing.T) {
	set, err := NewSet()
	if err != nil {
		t.Fatal(err)
	}
	extended, err := set.Extend(Envoy)
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&DecodeContext{Types: set}).Regexp("a+")
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&DecodeContext{Types: extended}).Regexp("a+")
	if err != nil || a != b {
		t.Errorf("the same expression is compiled again (%v)", err)
	}
	if c, err := (&DecodeContext{Types: set}).Regexp("a*"); err != nil || c == a {
		t.Errorf("another expression is the same (%v)", err)
	}
	if _, err := (&DecodeContext{Types: set}).Regexp("("); err == nil || err.Error() != mustFail("(") {
		t.Errorf("error %v", err)
	}
	runtime.KeepAlive(a)
	for range 1000 { // cleanups run some time after the garbage collection
		runtime.GC()
		if set.regexes.size() == 0 {
			return
		}
	}
	t.Errorf("%d unused expressions are still cached", set.regexes.size())
}

func mustFail(expr string) string {
	_, err := regexp.Compile(expr)
	return err.Error()
}

// A context without types compiles expressions, too.
func TestRegexpWithoutTypes(t *testing.T) {
	for _, dc := range []*DecodeContext{nil, {}, {Types: new(Set)}} {
		if re, err := dc.Regexp("a|ab"); err != nil || !re.MatchString("ab") || re.MatchString("abc") {
			t.Errorf("%v, %v", re, err)
		}
		if re, err := dc.Regexp("a)|(b"); err == nil {
			t.Errorf("what is only valid in a group becomes %v", re)
		}
	}
}

func TestRegexpConcurrently(t *testing.T) {
	set, err := NewSet()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				expr := fmt.Sprint(i % 7)
				re, err := (&DecodeContext{Types: set}).Regexp(expr)
				if err != nil || !re.MatchString(fmt.Sprint(i%7)) || re.MatchString("7") {
					t.Errorf("%q became %v, %v", expr, re, err)
				}
				if i%100 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
}
