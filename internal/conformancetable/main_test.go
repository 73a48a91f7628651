package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestThisRepository(t *testing.T) {
	faults, err := check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
	if _, err := os.Stat("../../" + trust); err != nil {
		t.Error(err)
	}
}

// The command checks all tables of the trust document.
func TestFaultsOfTrust(t *testing.T) {
	const head = "\n| place | rule | package | test |\n|---|---|---|---|\n"
	faults, err := check(fstest.MapFS{
		"a/a_test.go": {Data: []byte("package a\nfunc TestA(t *testing.T) {}\n")},
		document:      {Data: []byte(head + "| A1 | rule | `a` | `TestA` |\n")},
		trust:         {Data: []byte("# Trust\n" + head + "| one | rule | `a` | `TestA` |\n\ntext\n" + head + "| two | rule | `a` | `TestB` |\n")},
	})
	if want := []string{"docs/trust.md:11: TestB does not exist in a"}; err != nil || !slices.Equal(faults, want) {
		t.Errorf("faults %q, %v; want %q", faults, err, want)
	}
}

func TestFaults(t *testing.T) {
	const head = "# Conformance\n\n| gRFC | rule | package | test |\n|---|---|---|---|\n"
	tests := fstest.MapFS{
		"a/a_test.go": {Data: []byte("package a\nfunc TestA(t *testing.T) {}\nfunc helper() {}\nfunc (x X) TestM() {}\nfunc FuzzA(f *testing.F) {}\n")},
		"b/b_test.go": {Data: []byte("package b\nfunc TestB(t *testing.T) {}\n")},
		"c/c.go":      {Data: []byte("package c\nfunc TestC() {}\n")},
		// Package d runs scripts, package b does not.
		"d/d_test.go":        {Data: []byte("package d\nfunc TestScripts(t *testing.T) {}\n")},
		"d/testdata/a57.txt": {Data: []byte("subtest timer\n\n# subtest comment\n\nsubtest end\n")},
		"b/testdata/b.txt":   {Data: []byte("subtest timer\n\nsubtest end\n")},
	}
	for table, want := range map[string]string{
		"| A1 | a rule with `code` | `a` | `TestA`, `FuzzA` |\n":              "",
		"| A1 | a rule | with bars | `a`, `b` | `TestB` |\n":                  "",
		"| A1 | rule | `a` | `TestA` |\n\n| row | of | another | table |\n":   "",
		"| A1 | rule | `d` | `TestScripts/a57`, `TestScripts/a57/timer` |\n":  "",
		"| A1 | rule | `d` | `TestScripts/a57/comment` |\n":                   "TestScripts/a57/comment does not exist in d",
		"| A1 | rule | `d` | `TestScripts/a57/end` |\n":                       "TestScripts/a57/end does not exist in d",
		"| A1 | rule | `d` | `TestScripts/a58` |\n":                           "TestScripts/a58 does not exist in d",
		"| A1 | rule | `b` | `TestScripts/b/timer` |\n":                       "TestScripts/b/timer does not exist in b",
		"| A1 | rule | `a` | `TestB` |\n":                                     "conformance.md:5: TestB does not exist in a",
		"| A1 | rule | `a` | `TestA` |\n| A2 | rule | `a`, `b` | `TestX` |\n": "conformance.md:6: TestX does not exist in a, b",
		"| A1 | rule | `a` | `helper` |\n":                                    "helper does not exist",
		"| A1 | rule | `a` | `TestM` |\n":                                     "TestM does not exist",
		"| A1 | rule | `c` | `TestC` |\n":                                     "package c has no tests",
		"| A1 | rule | `nowhere` | `TestA` |\n":                               "package nowhere has no tests",
		"| A1 | rule | `a` | none |\n":                                        "a row names a package and a test",
		"| A1 | rule |\n":                                                     "a row has four columns",
	} {
		tests[document] = &fstest.MapFile{Data: []byte(head + table)}
		faults, err := check(tests)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(faults, "\n")
		if (want == "") != (all == "") || !strings.Contains(all, want) {
			t.Errorf("%s: faults %q, want %q", table, all, want)
		}
	}
	tests[document] = &fstest.MapFile{Data: []byte("no table\n")}
	if faults, err := check(tests); err != nil || len(faults) != 1 {
		t.Errorf("faults = %q, %v; want one, for the lack of a table", faults, err)
	}
	delete(tests, document)
	if _, err := check(tests); err == nil {
		t.Error("no error without a document")
	}
}
