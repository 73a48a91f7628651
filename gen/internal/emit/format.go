package emit

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"

	"mvdan.cc/gofumpt/format"
)

// Lines of generated code have at most so many columns. A tab has four.
const columns = 120

// formatted formats source as gofumpt does, with short lines. Parameters that are not used have no names.
func formatted(source []byte, to Target) ([]byte, error) {
	options := format.Options{LangVersion: "go1.26", ModulePath: to.Module}
	source, err := format.Source(source, options)
	if err != nil {
		return nil, err
	}
	if source, err = blank(source); err != nil {
		return nil, err
	}
	if broken := short(source); !bytes.Equal(broken, source) {
		return format.Source(broken, options)
	}
	return source, nil
}

// blank returns source in which the parameters that a function does not use are named _. All functions that decode have the same
// parameters, and so have those that check rules.
func blank(source []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range slices.Backward(file.Decls) {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		used := make(map[string]bool)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				n.Sel = ast.NewIdent("_") // the name of a field or method
			case *ast.Ident:
				used[n.Name] = true
			}
			return true
		})
		for _, params := range slices.Backward(f.Type.Params.List) {
			for _, name := range slices.Backward(params.Names) {
				if start := files.Position(name.Pos()).Offset; !used[name.Name] {
					source = slices.Replace(source, start, start+len(name.Name), '_')
				}
			}
		}
	}
	return source, nil
}

// short returns formatted source whose long lines end behind operators and commas, and between the words of
// strings. It must be formatted again.
func short(source []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(source) {
		rest, depth := string(line), 0
		indent := rest[:len(rest)-len(strings.TrimLeft(rest, "\t"))] + "\t"
		for {
			end, open, inString := lineEnd(rest, depth)
			depth = open
			if end == 0 {
				break
			}
			head, tail := rest[:end], rest[end:]
			if inString {
				head, tail = head+`" +`, `"`+tail
			}
			out.WriteString(strings.TrimRight(head, " ") + "\n")
			rest = indent + strings.TrimLeft(tail, " ")
		}
		out.WriteString(rest)
	}
	return out.Bytes()
}

// lineEnd returns the best end of a line that is too long, the number of brackets that are open there, and whether
// it is in a string. depth is the number at the start of the line. The end is 0 if the line is short.
func lineEnd(line string, depth int) (end, open int, inString bool) {
	limit := columns - 3*strings.Count(line, "\t")
	if len(line) <= limit+1 { // with the line feed
		return 0, depth, false
	}
	best, before := 1<<10, token.ILLEGAL
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", -1, len(line)), []byte(line), nil, 0)
	for {
		pos, tok, text := s.Scan()
		text = cmp.Or(text, tok.String())
		at, cost := files.Position(pos).Offset, best+1
		switch {
		case tok == token.EOF:
			return end, open, inString
		case tok == token.LPAREN, tok == token.LBRACK, tok == token.LBRACE:
			depth++
			cost = 1<<8 + depth
		case tok == token.PERIOD && before == token.RPAREN: // of a chain of calls
			cost = 1<<9 + depth
		case tok == token.RPAREN, tok == token.RBRACK, tok == token.RBRACE:
			depth--
			if depth == 0 && best < 1<<8 && (strings.HasPrefix(line, "func ") || strings.HasPrefix(line, "var ")) {
				return end, open, inString // rather among the parameters than among the results
			}
		case tok == token.LAND, tok == token.LOR:
			cost = 2 * depth
		case tok == token.EQL:
			cost = 2*depth + 2
		case tok == token.COMMA && (depth > 0 || strings.HasPrefix(strings.TrimLeft(line, "\t"), "case ")):
			cost = 2*depth + 1
		case tok == token.STRING && depth > 0 && (end == 0 || best > 1<<8) && at+len(text) > limit:
			room := line[at:min(max(limit-len(`" +`), at), len(line))]
			word := strings.LastIndexByte(room, ' ')
			if word <= 0 {
				word = strings.LastIndexByte(room, '.') // of a path
			}
			if word > 0 {
				return at + word + 1, depth, true
			}
		}
		if at+len(text) <= limit && cost <= best {
			best, end, open = cost, at+len(text), depth
		}
		before = tok
	}
}
