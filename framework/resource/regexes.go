package resource

import (
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync"
	"weak"
)

// Regexp compiles a regular expression that must match all of a text, as those of
// resources do. The resources of one program share what it makes of the same
// expression as long as one of them holds it: many routes have the same few. It may be
// called for a nil context, which shares nothing. Errors are those of package regexp.
func (dc *DecodeContext) Regexp(expr string) (*regexp.Regexp, error) {
	if dc == nil || dc.Types == nil || dc.Types.regexes == nil {
		return whole(expr)
	}
	return dc.Types.regexes.compile(expr)
}

func whole(expr string) (*regexp.Regexp, error) {
	if _, err := syntax.Parse(expr, syntax.Perl); err != nil { // it could close the group that comes around it
		return nil, err
	}
	return regexp.Compile(`\A(?:` + expr + `)\z`)
}

// regexes are compiled expressions, by their text, that are collected when nobody
// holds them any more. They are safe for concurrent use.
type regexes struct{ known sync.Map } // of weak.Pointer[regexp.Regexp] by string

func (t *regexes) compile(expr string) (*regexp.Regexp, error) {
	if w, ok := t.known.Load(expr); ok {
		if re := w.(weak.Pointer[regexp.Regexp]).Value(); re != nil {
			return re, nil
		}
	}
	expr = strings.Clone(expr) // that of a resource would keep all of it
	re, err := whole(expr)
	if err != nil {
		return nil, err
	}
	w := weak.Make(re)
	t.known.Store(expr, w)
	runtime.AddCleanup(re, func(w weak.Pointer[regexp.Regexp]) { t.known.CompareAndDelete(expr, w) }, w)
	return re, nil
}
