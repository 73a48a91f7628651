// Command mutate measures whether the tests of a package notice mistakes. It has
// go-gremlins change one operator at a time and run the package's tests; a change
// that fails no test has survived.
//
//	go run ./internal/mutate                       # every package of the default list
//	go run ./internal/mutate ./framework/xdstp     # some packages
//	go run ./internal/mutate -coverage ./registry  # only which changes the tests would reach
//
// Run it from the root of the module. It works on a copy of the files that git knows
// or could know. It lists the survivors, prints a table of packages, and exits with 1
// if a package is below -covered or -killed, or if the time is over. Only the tests
// of the package itself count.
//
// # Time
//
// The command first runs the tests of each package without a mutant, and finds the mutants.
// Then it measures the packages, cheap ones first. Each gets an equal share of the time that
// is left, until -time. A package draws as many mutants as fit in its share: at most -limit
// (200), and at least -least (15) also if the time is short. The table has the numbers of
// drawn and of covered mutants.
//
// # Which mutants run
//
// Files that end in .gen.go and those of tests are left out, and so are packages of
// test helpers, which import testing. A package with too many mutants gets a draw of its
// lines. The seed is the hash of HEAD, so a commit always draws the lines in the same
// order. The list equivalent.yaml names the mutants that
// mean the same as the original. An entry that matches no mutant is an error, and so
// is one whose mutant a test kills.
//
// # How gremlins is corrected
//
// Gremlins finds the Go command in PATH. This program stands there in its place and
// corrects three answers. A mutant that does not compile is "not viable", where
// gremlins would count it as killed. The time limit of a mutant applies to its tests alone, and not
// to the compiler: tests that do not end fail, and count as killed. A mutant that has
// no result five minutes after that limit is "timed out", and counts as neither. And the coverage profile gets the operators of
// case expressions and of package-level constants and variables, which Go's profiles
// leave out, so that gremlins would never change them.
package main
