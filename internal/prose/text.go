package main

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	longest = 30  // words of a sentence
	widest  = 120 // columns of a line of Markdown
)

// A line is a line of prose with its number in the file.
type line struct {
	number int
	text   string
}

// A block is a paragraph, a list item, a heading or a cell of a table.
type block []line

// A sentence has the counts of one sentence. Its line is that of its first word.
type sentence struct {
	line         int
	text         string
	words, whats int
}

var (
	bullet  = regexp.MustCompile(`^\s*([-*+]|\d+[.)])\s+`)
	marks   = regexp.MustCompile(`^(#{1,6}|>)\s+`)
	code    = regexp.MustCompile("``[^`].*?``|`[^`]*`")
	address = regexp.MustCompile(`\]\([^)]*\)`)
	word    = regexp.MustCompile(`[\pL\pN][\pL\pN'’_/.-]*`)
	rule    = regexp.MustCompile(`^[\s|:=-]*$`)
	output  = regexp.MustCompile(`^(Unordered output|Output):`)
	stop    = regexp.MustCompile(`[.!?][)"”*]*(\s|$)`)
	short   = regexp.MustCompile(`(?i)(^|[\s(])(e\.g|i\.e|etc|cf|vs|no)\.$`)
)

// paragraphs splits lines into blocks. Empty lines, headings and list items separate them. It
// skips code, which is indented by a tab or by at least four columns outside of a list.
func paragraphs(lines []line) (blocks []block) {
	var open, list bool // open: the next line belongs to the last block
	for _, l := range lines {
		switch {
		case strings.TrimSpace(l.text) == "":
			open = false
			continue
		case bullet.MatchString(l.text):
			l.text = bullet.ReplaceAllString(l.text, "")
			open, list = false, true
		case strings.HasPrefix(l.text, "\t"), !list && strings.HasPrefix(l.text, "    "):
			open = false
			continue
		case marks.MatchString(l.text):
			blocks = append(blocks, block{{l.number, marks.ReplaceAllString(l.text, "")}})
			open = false
			continue
		case !open && !strings.HasPrefix(l.text, " "):
			list = false
		}
		if !open {
			blocks = append(blocks, nil)
		}
		last := len(blocks) - 1
		blocks[last] = append(blocks[last], l)
		open = true
	}
	return blocks
}

// markdown returns the prose of a document. It skips fenced code.
func markdown(text string) (blocks []block) {
	var lines []line
	var fenced bool
	for i, t := range strings.Split(text, "\n") {
		switch trimmed := strings.TrimSpace(t); {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			t = ""
		case fenced:
			t = ""
		case strings.HasPrefix(trimmed, "|"):
			if !rule.MatchString(trimmed) {
				for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), "|") {
					lines = append(lines, line{i + 1, ""}, line{i + 1, strings.TrimSpace(cell)})
				}
			}
			t = ""
		}
		lines = append(lines, line{i + 1, t})
	}
	return paragraphs(lines)
}

// wideLines returns the numbers of the lines that are too wide and are no rows of a table.
func wideLines(text string) (numbers []int) {
	for i, t := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(t) > widest && !strings.HasPrefix(strings.TrimSpace(t), "|") {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// sentences splits a block. A span of code counts as one word, the address of a link as none.
func (b block) sentences() (all []sentence) {
	var text strings.Builder
	starts := make([]int, 0, len(b)) // of each line in text
	for _, l := range b {
		starts = append(starts, text.Len())
		text.WriteString(strings.TrimSpace(l.text) + " ")
	}
	// Replacements keep the length, so that offsets still belong to lines.
	blank := func(with string) func(string) string {
		return func(s string) string { return with + strings.Repeat(" ", len(s)-len(with)) }
	}
	plain := address.ReplaceAllStringFunc(code.ReplaceAllStringFunc(text.String(), blank("X")), blank("]"))
	for from := 0; from < len(plain); {
		end := next(plain, from)
		s := sentence{text: strings.TrimSpace(text.String()[from:end])}
		first := from + len(plain[from:end]) - len(strings.TrimLeft(plain[from:end], " "))
		for i, start := range starts {
			if start <= first {
				s.line = b[i].number
			}
		}
		question := strings.HasSuffix(strings.TrimRight(plain[from:end], ` )"”*`), "?")
		for _, w := range word.FindAllString(plain[from:end], -1) {
			s.words++
			if !question && strings.EqualFold(strings.TrimRight(w, ".'’/-"), "what") {
				s.whats++
			}
		}
		if s.words > 0 {
			all = append(all, s)
		}
		from = end
	}
	return all
}

// next returns the end of the sentence that starts at from.
func next(text string, from int) int {
	for at := from; ; {
		m := stop.FindStringIndex(text[at:])
		if m == nil {
			return len(text)
		}
		at += m[1]
		if !short.MatchString(strings.TrimRight(text[from:at], ` )"”*`)) {
			return at
		}
	}
}
