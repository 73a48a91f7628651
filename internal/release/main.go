// Command release checks the conditions of a release before somebody creates its tags. It changes nothing.
//
// Usage: go run ./internal/release VERSION
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
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
	fmt.Printf("%s is ready. Create the tags of all modules with:\n", version)
	tags, err := tags(".", version)
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
	for _, tag := range tags {
		fmt.Printf("git tag -a %s -m %[1]s\n", tag)
	}
	fmt.Printf("git push --atomic origin %s\n", strings.Join(tags, " "))
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
	tags, err := tags(dir, version)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if out, err := git(dir, "tag", "--list", tag); err != nil || out != "" {
			reasons = append(reasons, errors.Join(fmt.Errorf("the tag %s exists; choose another version", tag), err))
		}
	}
	reasons = append(reasons, checkChangelog(dir, version), checkModules(dir, version))
	return errors.Join(reasons...)
}

// modules returns the folders of the repository's modules, the main one first.
func modules(dir string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err // entry may be nil
		}
		switch base := entry.Name(); {
		case entry.IsDir() && name != dir && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata"):
			return fs.SkipDir
		case base == "go.mod":
			folder, err := filepath.Rel(dir, filepath.Dir(name))
			all = append(all, filepath.ToSlash(folder))
			return err
		}
		return nil
	})
	slices.Sort(all) // "." is before all letters
	return all, err
}

// published reports whether others may require the module of a folder. "go install" of a command at a version refuses the replacements
// of its go.mod file, "go get -tool" ignores them.
func published(folder string) bool {
	return !strings.HasPrefix(folder, "internal/") && !strings.HasPrefix(folder, "examples/")
}

// tags returns the tag of each published module. That of a module in a folder begins with the folder.
func tags(dir, version string) (all []string, err error) {
	folders, err := modules(dir)
	for _, folder := range folders {
		if published(folder) {
			all = append(all, path.Join(folder, version))
		}
	}
	return all, err
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

// checkModules wants go.mod files that other modules can require.
func checkModules(dir, version string) error {
	folders, err := modules(dir)
	if err != nil {
		return err
	}
	files := make(map[string]*modfile.File) // by folder
	own := make(map[string]bool)            // the paths of the modules
	for _, folder := range folders {
		name := filepath.Join(dir, folder, "go.mod")
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := modfile.Parse(name, b, nil)
		if err != nil {
			return err
		}
		files[folder], own[f.Module.Mod.Path] = f, true
	}
	var reasons []error
	for _, folder := range folders {
		f, name := files[folder], path.Join(folder, "go.mod")
		reasons = append(reasons, checkRequirements(f, name, version, own))
		if published(folder) {
			reasons = append(reasons, checkModule(f, name, version, own))
		}
	}
	return errors.Join(reasons...)
}

// checkRequirements wants the released version of the repository's other modules. Modules that are not
// published need it too: they may require a published one, and no version below its requirements.
func checkRequirements(f *modfile.File, name, version string, own map[string]bool) error {
	var reasons []error
	for _, r := range f.Require {
		if own[r.Mod.Path] && r.Mod.Version != version {
			reasons = append(reasons, fmt.Errorf("%s: require %s %s; no such version is released: run go mod edit -require=%[2]s@%[4]s %[1]s",
				name, r.Mod.Path, r.Mod.Version, version))
		}
	}
	return errors.Join(reasons...)
}

// checkModule wants a go.mod that means the same when another module requires it: without replacements of
// anything but modules of the repository.
func checkModule(f *modfile.File, name, version string, own map[string]bool) error {
	var reasons []error
	for _, r := range f.Replace {
		if !own[r.Old.Path] || name == "go.mod" {
			reasons = append(reasons, fmt.Errorf("%s: replace %s; modules that require this one ignore it: remove it", name, r.Old.Path))
		}
	}
	if major := semver.Major(version); major != "v0" && major != "v1" && !strings.HasSuffix(f.Module.Mod.Path, "/"+major) {
		reasons = append(reasons, fmt.Errorf("%s: module %s; a version %s needs the path suffix /%[3]s", name, f.Module.Mod.Path, major))
	}
	return errors.Join(reasons...)
}
