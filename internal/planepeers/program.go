package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
	"time"
)

// A program is a control plane of another project.
type program struct {
	pkg     string // the import path of its main package
	version string // of its module
}

// install returns the path of the program's file. The Go command builds it unless the cache folder has it.
func (p program) install(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "xdsforge", "planes", p.version)
	file := filepath.Join(dir, path.Base(p.pkg))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	fmt.Printf("installing %s@%s in %s\n", p.pkg, p.version, dir)
	cmd := exec.CommandContext(ctx, "go", "install", "-p", "2", p.pkg+"@"+p.version) //nolint:gosec // fixed paths and versions
	cmd.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s@%s: %w\n%s", p.pkg, p.version, err, out)
	}
	return file, nil
}

// A running is a program that runs.
type running struct {
	cmd  *exec.Cmd
	log  string // the path of the file with its output
	done chan struct{}
}

// launch starts a program, which appends its output to a file. The end of ctx kills it.
func launch(ctx context.Context, log string, env []string, name string, args ...string) (*running, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()                              // the program has its own
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // a program that install has built
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &running{cmd, log, make(chan struct{})}
	go func() {
		defer close(r.done)
		_ = cmd.Wait() // the log has the reason
	}()
	return r, nil
}

// stop ends the program: with an interrupt, or at once. It waits for the end.
func (r *running) stop(sig os.Signal) {
	_ = r.cmd.Process.Signal(sig) // it may have ended
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	select {
	case <-r.done:
		return
	case <-limit.C:
		_ = r.cmd.Process.Signal(syscall.SIGKILL)
	}
	<-r.done
}

// ended returns an error with the end of the log if the program has ended.
func (r *running) ended() error {
	select {
	case <-r.done:
		return fmt.Errorf("%s has ended:\n%s", r.cmd.Path, r.tail())
	default:
		return nil
	}
}

// tail returns the last lines of the log.
func (r *running) tail() []byte {
	text, err := os.ReadFile(r.log)
	if err != nil {
		return nil
	}
	const lines = 20
	at := len(text)
	for range lines {
		if at = bytes.LastIndexByte(text[:at], '\n'); at < 0 {
			return text
		}
	}
	return text[at+1:]
}
