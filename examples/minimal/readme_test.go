package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
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

// TestReadme runs the first program of README with its two files, and compares the output.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("checkout.yaml", block(t, readme, "`/tmp/xds/checkout.yaml`", "yaml"))
	file := filepath.Join(t.TempDir(), "bootstrap.json")
	content := strings.ReplaceAll(block(t, readme, "`bootstrap.json`", "json"), "file:///tmp/xds", "file://"+dir)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if body := block(t, readme, "`main.go`", "go"); !strings.Contains(string(source), body) {
		t.Errorf("main.go of README is not the program:\n%s", body)
	}

	_, want, _ := strings.Cut(block(t, readme, "`main.go`", "console"), "\n")
	parts := strings.Split(strings.TrimSpace(want), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	pattern := regexp.MustCompile(strings.Join(parts, ".*"))
	if line := firstLine(t, file); !pattern.MatchString(line) {
		t.Errorf("the program prints\n%s\nREADME says\n%s", line, want)
	}
}

// firstLine runs the program with a bootstrap file, and returns its first line.
func firstLine(t *testing.T, file string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
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
