package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A row has the counts of one directory, without those below it.
type row struct {
	dir                      string
	words, whats, long, wide int
	findings                 []string // file:line: text
}

func (r row) rate() float64 {
	if r.words == 0 {
		return 0
	}
	return 1000 * float64(r.whats) / float64(r.words)
}

func total(rows []row) row {
	sum := row{dir: "(all)"}
	for _, r := range rows {
		sum.words += r.words
		sum.whats += r.whats
		sum.long += r.long
		sum.wide += r.wide
	}
	return sum
}

// scan reads all files of a tree and returns one row for each directory with prose, sorted. It
// skips hidden directories.
func scan(root fs.FS) ([]row, error) {
	rows := make(map[string]*row)
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		blocks, wide, err := read(root, file)
		if err != nil || len(blocks) == 0 {
			return err
		}
		dir := path.Dir(file)
		if rows[dir] == nil {
			rows[dir] = &row{dir: dir}
		}
		rows[dir].add(file, blocks, wide)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(values(rows), func(a, b row) int { return cmp.Compare(a.dir, b.dir) }), nil
}

func values(rows map[string]*row) func(yield func(row) bool) {
	return func(yield func(row) bool) {
		for r := range maps.Values(rows) {
			if !yield(*r) {
				return
			}
		}
	}
}

func (r *row) add(file string, blocks []block, wide []int) {
	for _, line := range wide {
		r.wide++
		r.findings = append(r.findings, fmt.Sprintf("%s:%d: wide line", file, line))
	}
	for _, b := range blocks {
		for _, s := range b.sentences() {
			r.words += s.words
			r.whats += s.whats
			if s.whats > 0 {
				r.findings = append(r.findings, fmt.Sprintf("%s:%d: what: %s", file, s.line, s.text))
			}
			if s.words > longest {
				r.long++
				r.findings = append(r.findings, fmt.Sprintf("%s:%d: %d words: %s", file, s.line, s.words, s.text))
			}
		}
	}
}

// read returns the prose of a file, and for Markdown the numbers of its wide lines.
func read(root fs.FS, file string) (blocks []block, wide []int, err error) {
	var of func(text []byte) ([]block, error)
	switch {
	case strings.HasSuffix(file, ".md"):
		of = func(text []byte) ([]block, error) {
			wide = wideLines(string(text))
			return markdown(string(text)), nil
		}
	case strings.HasSuffix(file, ".go"):
		of = comments
	case path.Base(file) == "resource.yaml":
		of = descriptor
	default:
		return nil, nil, nil
	}
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, nil, err
	}
	if blocks, err = of(text); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return blocks, wide, nil
}

// comments returns the comments of a Go file. It returns none of a generated file.
func comments(source []byte) (blocks []block, err error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(f) {
		return nil, nil
	}
	for _, group := range f.Comments {
		var lines []line
		for _, c := range group.List {
			first := files.Position(c.Pos()).Line
			if text, ok := strings.CutPrefix(c.Text, "//"); ok {
				// A directive such as //go:generate has no space.
				if text == "" || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t") {
					lines = append(lines, line{first, strings.TrimPrefix(text, " ")})
				}
				continue
			}
			inner := strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
			lines = append(lines, split(inner, first)...)
		}
		if len(lines) > 0 && output.MatchString(lines[0].text) {
			continue // the output of an example
		}
		blocks = append(blocks, paragraphs(lines)...)
	}
	return blocks, nil
}

// descriptor returns the values of all "doc" keys of a descriptor.
func descriptor(source []byte) (blocks []block, err error) {
	var document yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(source)).Decode(&document); err != nil {
		return nil, err
	}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "doc" {
				blocks = append(blocks, paragraphs(split(child.Value, child.Line))...)
			}
			visit(child)
		}
	}
	visit(&document)
	return blocks, nil
}

// split returns the lines of a text that starts in the given line of its file.
func split(text string, first int) (lines []line) {
	for t := range strings.SplitSeq(text, "\n") {
		lines = append(lines, line{first + len(lines), t})
	}
	return lines
}
