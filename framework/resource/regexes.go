package resource

import (
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync"
	"weak"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// Regexp compiles a regular expression that must match all of a text, as those of
// resources do. The resources of one program share what it makes of the same
// expression as long as one of them holds it: many routes have the same few. One that is
// shared costs nothing of [Limits]. It may be called for a nil context, which shares
// nothing and has no limits. Errors are those of package regexp, or say that the limits
// are exceeded.
func (dc *DecodeContext) Regexp(expr string) (*regexp.Regexp, error) { return dc.regexp(expr, false) }

// RegexpPart is [DecodeContext.Regexp] for a regular expression that matches parts of a
// text.
func (dc *DecodeContext) RegexpPart(expr string) (*regexp.Regexp, error) {
	return dc.regexp(expr, true)
}

func (dc *DecodeContext) regexp(expr string, part bool) (*regexp.Regexp, error) {
	switch {
	case dc == nil:
		return compile(expr, part, nil)
	case dc.Types == nil || dc.Types.regexes == nil:
		return compile(expr, part, dc.budget())
	}
	return dc.Types.regexes.compile(expr, part, dc.budget())
}

// compile compiles an expression that must match all or a part of a text, if the budget has
// it.
func compile(expr string, part bool, b *wire.Budget) (*regexp.Regexp, error) {
	tree, err := parseRegexp(expr, b) // alone: the expression could close the group that comes around it
	if err != nil {
		return nil, err
	}
	if !b.Regexp(RegexpBase + instructions(tree)) {
		return nil, tooLarge("", b.Excess())
	}
	if part {
		return regexp.Compile(expr)
	}
	return regexp.Compile(`\A(?:` + expr + `)\z`)
}

// parseRegexp parses an expression. One that is longer than the budget's number of
// instructions is not looked at.
func parseRegexp(expr string, b *wire.Budget) (*syntax.Regexp, error) {
	if !b.HasRegexp(len(expr)) {
		return nil, tooLarge("", b.Excess())
	}
	return syntax.Parse(expr, syntax.Perl)
}

// runesPerInstruction is how many bounds of a character class take the memory of an
// instruction.
const runesPerInstruction = 8

// instructions is about how many instructions an expression compiles to, in which
// repetitions are written out.
func instructions(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op { //nolint:exhaustive // the others are one instruction, beside those below them
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/runesPerInstruction
	case syntax.OpRepeat:
		return max(re.Min, re.Max, 1) * n
	}
	return n
}

// regexes are compiled expressions, by their text, that are collected when nobody
// holds them any more. They are safe for concurrent use.
type regexes struct{ known, parts sync.Map } // of weak.Pointer[regexp.Regexp] by string

func (t *regexes) compile(expr string, part bool, b *wire.Budget) (*regexp.Regexp, error) {
	known := &t.known
	if part {
		known = &t.parts
	}
	if w, ok := known.Load(expr); ok {
		if re := w.(weak.Pointer[regexp.Regexp]).Value(); re != nil {
			return re, nil
		}
	}
	expr = strings.Clone(expr) // that of a resource would keep all of it
	re, err := compile(expr, part, b)
	if err != nil {
		return nil, err
	}
	w := weak.Make(re)
	known.Store(expr, w)
	runtime.AddCleanup(re, func(w weak.Pointer[regexp.Regexp]) { known.CompareAndDelete(expr, w) }, w)
	return re, nil
}
