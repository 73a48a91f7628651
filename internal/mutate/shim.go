package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	shimName = "go"
	// goVariable holds the path of the real Go command.
	goVariable = "MUTATE_GO"
	// keepVariable holds a file for the coverage profile, keptVariable one that has it.
	keepVariable = "MUTATE_KEEP_PROFILE"
	keptVariable = "MUTATE_KEPT_PROFILE"
	// limitVariable holds the time that the tests of a mutant may run.
	limitVariable = "MUTATE_TEST_LIMIT"
	// flagsVariable holds flags for the tests, separated by spaces.
	flagsVariable = "MUTATE_TEST_FLAGS"

	// coverageTime is how long a kept profile takes to appear.
	coverageTime = time.Second

	exitFailed    = 1
	exitNotViable = 2 // gremlins reads it as "not viable"
)

// shim runs the real Go command for gremlins, and returns its exit code. See the package's comment for the answers that it corrects.
func shim(args []string) int {
	profile := ""
	if i := slices.Index(args, "-coverprofile"); i > 0 && i+1 < len(args) {
		profile = args[i+1]
	}
	if kept := os.Getenv(keptVariable); profile != "" && kept != "" {
		return exitCode(repeatCoverage(kept, profile))
	}
	if len(args) > 0 && args[0] == "test" {
		args = slices.Clone(args)
		if profile != "" {
			onlyPackage(args)
		}
		limitTests(args)
		args = append(args, strings.Fields(os.Getenv(flagsVariable))...)
	}
	cmd := exec.Command(os.Getenv(goVariable), args...) //nolint:gosec // the Go command, which the parent has found
	cmd.Env = withoutGit(os.Environ())
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	_, _ = os.Stdout.Write(output.Bytes())
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		if args[0] == "test" && doesNotBuild(output.Bytes()) {
			return exitNotViable
		}
		return max(failed.ExitCode(), exitFailed)
	case err != nil || profile == "":
		return exitCode(err)
	}
	return exitCode(keepProfile(profile, os.Getenv(keepVariable)))
}

// limitTests replaces the time limit that gremlins sets for the tests. Gremlins' own limit includes the compiler, so that a
// busy machine would exceed it.
func limitTests(args []string) {
	i := slices.Index(args, "-timeout")
	if limit := os.Getenv(limitVariable); limit != "" && i >= 0 && i+1 < len(args) {
		args[i+1] = limit
	}
}

// onlyPackage removes the packages below from the patterns of the coverage run. Their tests do not count, and may not know
// the flags.
func onlyPackage(args []string) {
	for i, a := range args {
		if dir, below := strings.CutSuffix(a, "/..."); below {
			args[i] = dir
		}
	}
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		return exitFailed
	}
	return 0
}

// keepProfile widens a coverage profile and keeps a copy of it.
func keepProfile(profile, kept string) error {
	if err := widenProfile(profile, "."); err != nil {
		return err
	}
	return copyFile(profile, kept)
}

// repeatCoverage answers with a profile that was kept. It takes coverageTime, of which
// gremlins makes the time that the tests of a mutant get.
func repeatCoverage(kept, profile string) error {
	due := time.NewTimer(coverageTime)
	defer due.Stop()
	if err := copyFile(kept, profile); err != nil {
		return err
	}
	<-due.C
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from) //nolint:gosec // a file of the parent or of gremlins
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600) //nolint:gosec // a file of the parent or of gremlins
}

// doesNotBuild tells a test that failed from one that could not be built.
func doesNotBuild(output []byte) bool {
	for line := range strings.Lines(string(output)) {
		if strings.HasPrefix(line, "FAIL\t") && strings.HasSuffix(strings.TrimSpace(line), "[build failed]") {
			return true
		}
	}
	return false
}

// withoutGit removes the repository that gremlins compares with: tests that use git
// must not see it.
func withoutGit(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(v string) bool {
		return strings.HasPrefix(v, "GIT_")
	})
}
