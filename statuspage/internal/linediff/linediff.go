// Package linediff compares two texts line by line.
package linediff

import "slices"

// An Op says where a line is.
type Op string

// The values of Op.
const (
	Both   Op = " "
	Old    Op = "-" // only in the old text
	New    Op = "+" // only in the new text
	Hidden Op = "@" // lines of both texts that are not shown
)

// A Line is a line of a comparison.
type Line[T any] struct {
	Op    Op
	Value T
	// Lines is the number of lines, for Hidden.
	Lines int
}

// maxCells is the limit of the memory for a comparison, in cells of 2 bytes. Beyond, all lines between
// the first and the last difference count as different.
const maxCells = 4 << 20

// Compare returns the lines of both texts in order. Lines with equal keys are equal. Old lines come
// before new ones.
func Compare[T any](before, after []T, key func(T) string) []Line[T] {
	var out []Line[T]
	a, b := keys(before, key), keys(after, key)
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		out = append(out, Line[T]{Op: Both, Value: after[start]})
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	table := lengths(a[start:endA], b[start:endB])
	i, j := start, start
	for i < endA || j < endB {
		switch {
		case i < endA && j < endB && a[i] == b[j] && table != nil:
			out = append(out, Line[T]{Op: Both, Value: after[j]})
			i, j = i+1, j+1
		case i < endA && (j == endB || table == nil || table[i-start+1][j-start] >= table[i-start][j-start+1]):
			out = append(out, Line[T]{Op: Old, Value: before[i]})
			i++
		default:
			out = append(out, Line[T]{Op: New, Value: after[j]})
			j++
		}
	}
	for ; j < len(b); j++ {
		out = append(out, Line[T]{Op: Both, Value: after[j]})
	}
	return out
}

func keys[T any](list []T, key func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = key(v)
	}
	return out
}

// lengths returns the lengths of the longest common subsequences of all ends of a and b. It returns nil
// if the table is too large.
func lengths(a, b []string) [][]uint16 {
	if (len(a)+1)*(len(b)+1) > maxCells || min(len(a), len(b)) > 1<<16-1 {
		return nil
	}
	cells := make([]uint16, (len(a)+1)*(len(b)+1))
	table := make([][]uint16, len(a)+1)
	for i := range table {
		table[i] = cells[i*(len(b)+1) : (i+1)*(len(b)+1)]
	}
	for i, line := range slices.Backward(a) {
		for j, other := range slices.Backward(b) {
			if line == other {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// Fold replaces long runs of equal lines by one Hidden line. It keeps the given number of lines around
// each difference.
func Fold[T any](lines []Line[T], context int) []Line[T] {
	keep := make([]bool, len(lines))
	for i, l := range lines {
		if l.Op != Both {
			for k := max(0, i-context); k <= min(len(lines)-1, i+context); k++ {
				keep[k] = true
			}
		}
	}
	var out []Line[T]
	for i, l := range lines {
		switch n := len(out); {
		case keep[i]:
			out = append(out, l)
		case n > 0 && out[n-1].Op == Hidden:
			out[n-1].Lines++
		default:
			out = append(out, Line[T]{Op: Hidden, Lines: 1})
		}
	}
	return out
}
