package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// readTable returns the ids of the rows that a Markdown file lists as disagreements: the
// table lines that begin with the id of a row. Each has four cells: the row, the peer's
// verdict, our verdict, and the sentence that decides.
func readTable(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	id := regexp.MustCompile(`^[a-z0-9_]+-\d+$`)
	known := make(map[string]bool)
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		row := strings.Trim(cells[0], "`")
		if !id.MatchString(row) {
			continue
		}
		if len(cells) != 4 || cells[1] == "" || cells[2] == "" || cells[3] == "" {
			return nil, fmt.Errorf("%s:%d: %s: must have four cells, none empty", path, number, row)
		}
		if known[row] {
			return nil, fmt.Errorf("%s:%d: %s: must not be listed twice", path, number, row)
		}
		known[row] = true
	}
	return known, nil
}
