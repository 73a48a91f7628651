package diag

import "strconv"

// Suggest returns a hint with the candidate that is most similar to word, or "" if none is
// similar. The first of several equally similar candidates wins.
func Suggest(word string, candidates []string) string {
	best, found := len(word)/3+2, ""
	for _, c := range candidates {
		if d := distance(word, c); d < best {
			best, found = d, c
		}
	}
	if found == "" {
		return ""
	}
	return "did you mean " + strconv.Quote(found) + "?"
}

// distance returns the number of single-character edits that turn a into b. Swapping two
// adjacent characters is one edit.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(y)]
}
