// Command prose measures the plain English of comments, descriptors and Markdown, and prints a
// row for each directory.
//
//	go run ./internal/prose                 # the table
//	go run ./internal/prose -list           # each finding with its file and line
//	go run ./internal/prose -enforce        # only the rows over a limit; exits with 1 if there are any
//	go run ./internal/prose -list ./docs    # only directories that start with docs
//
// Run it from the root of the module. It reads the comments of Go files, tests included, the `doc`
// entries of descriptors, and Markdown. It skips generated Go files, because their comments come
// from descriptors, and it skips code in comments and Markdown.
//
// # Columns
//
//   - "what" counts this word outside of questions, and the rate is its count in 1,000 words. A
//     sentence whose subject is a clause with this word names neither the actor nor the thing.
//   - "long" counts sentences of more than 30 words.
//   - "wide" counts lines of Markdown with more than 120 columns. Rows of tables cannot be wrapped
//     and do not count.
//
// The whole tree must stay below one in 1,000 words, and no directory may be above three.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"text/tabwriter"
)

const (
	treeLimit = 1.0 // the rate of the whole tree must be below it
	dirLimit  = 3.0 // the rate of a directory must not be above it
)

func main() {
	enforce := flag.Bool("enforce", false, "print only rows over a limit, and exit with 1 if there are any")
	list := flag.Bool("list", false, "print each finding with its file and line, instead of the table")
	flag.Parse()
	rows, err := scan(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	rows = under(rows, flag.Args())
	switch {
	case *list:
		for _, r := range rows {
			for _, f := range r.findings {
				fmt.Println(f)
			}
		}
	case *enforce:
		faults := check(rows)
		for _, f := range faults {
			fmt.Fprintln(os.Stderr, f)
		}
		if len(faults) > 0 {
			fmt.Fprintln(os.Stderr, "prose: go run ./internal/prose -list prints the lines")
			os.Exit(1)
		}
	default:
		write(os.Stdout, rows)
	}
}

// under returns the rows of the given directories and those below them. Without directories it
// returns all rows.
func under(rows []row, dirs []string) []row {
	if len(dirs) == 0 {
		return rows
	}
	var some []row
	for _, r := range rows {
		for _, d := range dirs {
			d = path.Clean(d)
			if r.dir == d || d == "." || strings.HasPrefix(r.dir, d+"/") {
				some = append(some, r)
				break
			}
		}
	}
	return some
}

// check returns one line for each limit that a row or the sum of the rows exceeds.
func check(rows []row) (faults []string) {
	sum := total(rows)
	if sum.rate() >= treeLimit {
		faults = append(faults, fmt.Sprintf("prose: rate of \"what\" = %.2f in 1,000 words; must be below %g", sum.rate(), treeLimit))
	}
	for _, r := range rows {
		if r.rate() > dirLimit {
			faults = append(faults, fmt.Sprintf("prose: %s: rate of \"what\" = %.2f in 1,000 words (%d in %d); must be at most %g",
				r.dir, r.rate(), r.whats, r.words, dirLimit))
		}
	}
	return faults
}

func write(w io.Writer, rows []row) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "words\twhat\trate\tlong\twide\t  directory")
	for _, r := range append(rows, total(rows)) {
		fmt.Fprintf(t, "%d\t%d\t%.2f\t%d\t%d\t  %s\n", r.words, r.whats, r.rate(), r.long, r.wide, r.dir)
	}
	t.Flush()
}
