package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

// verdict is the result of one row.
type verdict struct {
	// notAsked is the reason if the row tests a feature that this framework does not have.
	notAsked string
	// skip excludes the row from judging and counting.
	skip bool
	// differences are the disagreements between a peer and this framework.
	differences []string
}

// compare records a difference between the peer's and this framework's result for a part of
// the row.
func (v *verdict) compare(part string, peer, ours any) {
	if !reflect.DeepEqual(peer, ours) {
		v.differences = append(v.differences, fmt.Sprintf("%s: the peer returns %s, we return %s", part, show(peer), show(ours)))
	}
}

// compareOK notes a difference in whether the input is valid, and reports
// whether both find it so.
func (v *verdict) compareOK(peer bool, err error) (both bool) {
	ours := err == nil
	if peer != ours {
		difference := fmt.Sprintf("valid: the peer returns %v, we return %v", peer, ours)
		if err != nil {
			difference += ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		v.differences = append(v.differences, difference)
	}
	return peer && ours
}

// show writes v as JSON, which it is a part of.
func show(v any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

// judged is a row with its verdict.
type judged struct {
	id string
	verdict
}

// result is the result of one file.
type result struct {
	file string
	rows []judged
}

func runFile(r runner, path string) (result, error) {
	file, err := os.Open(path)
	if err != nil {
		return result{}, err
	}
	defer file.Close()
	out := result{file: r.file}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for number := 1; lines.Scan(); number++ {
		row := lines.Bytes()
		if len(row) == 0 {
			continue
		}
		var head struct{ ID string }
		if err := json.Unmarshal(row, &head); err != nil {
			return result{}, fmt.Errorf("%s:%d: %w", r.file, number, err)
		}
		if head.ID == "" {
			return result{}, fmt.Errorf("%s:%d: id is missing; must be the name of the row", r.file, number)
		}
		v, err := r.judge(row)
		if err != nil {
			return result{}, fmt.Errorf("%s:%d: %s: %w", r.file, number, head.ID, err)
		}
		if !v.skip {
			out.rows = append(out.rows, judged{head.ID, v})
		}
	}
	return out, lines.Err()
}

// print writes the figures of the file and each row that does not agree, and
// returns how many rows are not as the table says.
func (r result) print(w io.Writer, known map[string]bool) (wrong int) {
	agreed, notAsked := 0, 0
	var details strings.Builder
	for _, row := range r.rows {
		switch {
		case row.notAsked != "":
			notAsked++
			fmt.Fprintf(&details, "  %s: out of scope: %s\n", row.id, row.notAsked)
			continue
		case len(row.differences) == 0:
			agreed++
			if known[row.id] {
				wrong++
				fmt.Fprintf(&details, "  %s: AGREES, but is in the table\n", row.id)
			}
			continue
		case known[row.id]:
			fmt.Fprintf(&details, "  %s: disagrees, as in the table\n", row.id)
		default:
			wrong++
			fmt.Fprintf(&details, "  %s: DISAGREES, and is missing in the table\n", row.id)
		}
		for _, difference := range row.differences {
			fmt.Fprintf(&details, "    %s\n", difference)
		}
	}
	all := len(r.rows) - notAsked
	fmt.Fprintf(w, "%s: %d / %d agreed", r.file, agreed, all)
	if notAsked > 0 {
		fmt.Fprintf(w, ", %d out of scope", notAsked)
	}
	fmt.Fprintf(w, "\n%s", details.String())
	return wrong
}
