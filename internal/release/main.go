// Command release checks the conditions of a tag before somebody creates it. It changes nothing.
//
// Usage: go run ./internal/release VERSION
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/release VERSION, such as v0.1.0")
		os.Exit(2)
	}
	version := os.Args[1]
	if err := check(".", version, git); err != nil {
		fmt.Fprintf(os.Stderr, "release: %s is not ready:\n%v\n", version, err)
		os.Exit(1)
	}
	fmt.Printf("%s is ready. Create the tag with: git tag -a %[1]s -m %[1]s && git push origin %[1]s\n", version)
}

// git runs a Git command in a directory and returns its output.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...) //nolint:gosec // arguments are constants and a checked version
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// check returns all reasons against a release of the repository in dir.
func check(dir, version string, git func(dir string, args ...string) (string, error)) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version || semver.Build(version) != "" {
		return fmt.Errorf("version = %q; must be a semantic version such as v1.2.3 or v1.2.3-rc.1", version)
	}
	var reasons []error
	if out, err := git(dir, "status", "--porcelain"); err != nil || out != "" {
		reasons = append(reasons, errors.Join(fmt.Errorf("the work tree has changes; commit them:\n%s", out), err))
	}
	if out, err := git(dir, "tag", "--list", version); err != nil || out != "" {
		reasons = append(reasons, errors.Join(fmt.Errorf("the tag %s exists; choose another version", version), err))
	}
	reasons = append(reasons, checkChangelog(dir, version), checkModule(dir, version))
	return errors.Join(reasons...)
}

// checkChangelog wants a dated section with a text, which is not a pre-release's duty.
func checkChangelog(dir, version string) error {
	if semver.Prerelease(version) != "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	heading := "\n## " + strings.TrimPrefix(version, "v") + " - "
	_, section, ok := strings.Cut(string(b), heading)
	if !ok {
		return fmt.Errorf("CHANGELOG.md has no section %q; rename the section Unreleased", strings.TrimSpace(heading)+" YYYY-MM-DD")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	if date, text, _ := strings.Cut(section, "\n"); len(strings.TrimSpace(date)) != len("2006-01-02") || strings.TrimSpace(text) == "" {
		return fmt.Errorf("CHANGELOG.md: the section of %s needs a date and at least one line", version)
	}
	return nil
}

// checkModule wants a go.mod that other modules can require.
func checkModule(dir, version string) error {
	name := filepath.Join(dir, "go.mod")
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := modfile.Parse(name, b, nil)
	if err != nil {
		return err
	}
	var reasons []error
	for _, r := range f.Replace {
		reasons = append(reasons, fmt.Errorf("go.mod: replace %s; modules that require this one ignore it: remove it", r.Old.Path))
	}
	if major := semver.Major(version); major != "v0" && major != "v1" && !strings.HasSuffix(f.Module.Mod.Path, "/"+major) {
		reasons = append(reasons, fmt.Errorf("go.mod: module %s; a version %s needs the path suffix /%[2]s", f.Module.Mod.Path, major))
	}
	return errors.Join(reasons...)
}
