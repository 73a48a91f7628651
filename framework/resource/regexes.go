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

// Regexp compiles a regular expression that must match the whole text, as those in resources do.
// Many routes have the same few expressions. Therefore the resources of one program share a
// compiled expression as long as one of them holds it. A shared expression costs nothing of
// [Limits]. Regexp may be called for a nil context, which shares nothing and has no limits. Errors
// are those of package regexp, or report that a limit is exceeded.
func (dc *DecodeContext) Regexp(expr string) (*regexp.Regexp, error) { return dc.regexp(expr, false) }

// RegexpPart is [DecodeContext.Regexp] for a regular expression that matches a part of a text.
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

// compile compiles an expression that must match all or a part of a text, within the budget.
func compile(expr string, part bool, b *wire.Budget) (*regexp.Regexp, error) {
	tree, err := parseRegexp(expr, b) // parsed without the group: the expression could close it
	if err != nil {
		return nil, err
	}
	if !b.Regexp(regexpBase + instructions(tree)) {
		return nil, tooLarge("", b.Excess())
	}
	if part {
		return regexp.Compile(expr)
	}
	return regexp.Compile(`\A(?:` + expr + `)\z`)
}

// parseRegexp parses an expression. It rejects an expression with more bytes than the budget has
// instructions, without reading it.
func parseRegexp(expr string, b *wire.Budget) (*syntax.Regexp, error) {
	if !b.HasRegexp(len(expr)) {
		return nil, tooLarge("", b.Excess())
	}
	return syntax.Parse(expr, syntax.Perl)
}

// runesPerInstruction is the number of character class bounds that take the memory of one
// instruction.
const runesPerInstruction = 8

// instructions estimates the number of instructions that an expression compiles to, with
// repetitions written out.
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

// regexes holds compiled expressions by their text. They are collected when nobody holds them any
// more. It is safe for concurrent use.
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
	expr = strings.Clone(expr) // a substring would keep the whole resource in memory
	re, err := compile(expr, part, b)
	if err != nil {
		return nil, err
	}
	w := weak.Make(re)
	known.Store(expr, w)
	runtime.AddCleanup(re, func(w weak.Pointer[regexp.Regexp]) { known.CompareAndDelete(expr, w) }, w)
	return re, nil
}
