package diag

import "strings"

// Article returns the word with "a" or "an" before it.
func Article(word string) string {
	if word != "" && strings.ContainsRune("aeiouAEIO", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
