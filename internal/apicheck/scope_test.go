package main

import (
	"os"
	"path"
	"strings"
	"testing"
)

// The page about compatibility lists each package outside of the promise.
func TestExemptPackagesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	names := exemptTrees()
	for _, typ := range extraTypes() {
		names = append(names, path.Base(typ))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/compatibility.md does not list %s", name)
		}
	}
}
