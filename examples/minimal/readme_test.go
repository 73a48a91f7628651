package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// block returns the block of README after a text.
func block(t *testing.T, readme, after, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(readme, after)
	_, rest, found := strings.Cut(rest, "```"+language+"\n")
	if !ok || !found {
		t.Fatalf("README has no block of %s after %q", language, after)
	}
	text, _, _ := strings.Cut(rest, "```")
	return text
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadme compares the first program of README and its two files with those of the folder, runs it,
// and compares the output.
func TestReadme(t *testing.T) {
	readme := read(t, "../../README.md")
	for file, language := range map[string]string{"bootstrap.json": "json", "xds/checkout.yaml": "yaml"} {
		if want := read(t, file); block(t, readme, "`"+file+"`", language) != want {
			t.Errorf("README's %s is not the file:\n%s", file, want)
		}
	}
	if body := block(t, readme, "`main.go`", "go"); !strings.Contains(read(t, "main.go"), body) {
		t.Errorf("main.go of README is not the program:\n%s", body)
	}

	_, want, _ := strings.Cut(block(t, readme, "`main.go`", "console"), "\n")
	parts := strings.Split(strings.TrimSpace(want), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	pattern := regexp.MustCompile(strings.Join(parts, ".*"))
	if line := firstLine(t, "bootstrap.json"); !pattern.MatchString(line) {
		t.Errorf("the program prints\n%s\nREADME says\n%s", line, want)
	}
}

// firstLine runs the program with a bootstrap file, and returns its first line.
func firstLine(t *testing.T, file string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), beProgram+"=1", bootstrap.EnvFile+"="+file)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("reading the output: %v", err)
	}
	cancel()
	_ = cmd.Wait() // killed
	return line
}
