// Command mutate measures whether the tests of a package notice mistakes. It has
// go-gremlins change one operator at a time and run the package's tests; a change
// that fails no test has survived.
//
//	go run ./internal/mutate                       # every package of the default list
//	go run ./internal/mutate ./framework/xdstp     # some packages
//	go run ./internal/mutate -coverage ./registry  # only which changes the tests would reach
//
// Run it from the root of the module. It works on a copy of the files that git knows
// or could know. It prints a table of packages, lists the survivors, and exits with 1
// if a package is below -covered or -killed, or if the time is over. Only the tests
// of the package itself count.
//
// # Which mutants run
//
// Files that end in .gen.go and those of tests are left out, and so are packages of
// test helpers, which import testing. A package with more
// than -limit mutants gets a draw of its lines; the seed is the hash of HEAD, so a
// commit always gets the same draw. The list equivalent.yaml names the mutants that
// mean the same as the original. An entry that matches no mutant is an error, and so
// is one whose mutant a test kills.
//
// # How gremlins is corrected
//
// Gremlins finds the Go command in PATH. This program stands there in its place and
// corrects two answers. A mutant that does not compile is "not viable", where
// gremlins would count it as killed. And the coverage profile gets the operators of
// case expressions and of package-level constants and variables, which Go's profiles
// leave out, so that gremlins would never change them.
package main
