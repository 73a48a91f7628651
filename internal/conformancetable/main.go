// Command conformancetable checks the table of docs/conformance.md: every test that
// a row names exists, in a package that the row names. A test may be a scenario of a script,
// TestScripts/FILE/NAME.
//
//	go run ./internal/conformancetable
//
// Run from the root of the module. It prints each fault with its line, and exits with 1 if there
// are any. A test of this package does the same.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "root of the module")
	flag.Parse()
	faults, err := check(os.DirFS(*root))
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformancetable:", err)
		os.Exit(2)
	}
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
