package model

import "fmt"

// Names are names that are taken.
type Names map[string]bool

// Take takes a name and returns it: the base, or the base with the first number from 2 that makes it free.
func (n Names) Take(base string) string {
	name := base
	for i := 2; n[name]; i++ {
		name = fmt.Sprint(base, i)
	}
	n[name] = true
	return name
}
