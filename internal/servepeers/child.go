package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed js/peer.js js/package.json cpp/peer.cc
var sources embed.FS

// A child is a client in another process, which makes a call for each line.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// Who implements [peer].
func (c *child) Who(context.Context) (string, error) {
	if _, err := io.WriteString(c.in, "call\n"); err != nil {
		return "", err
	}
	if !c.out.Scan() {
		return "", errors.Join(io.ErrUnexpectedEOF, c.out.Err())
	}
	who, ok := strings.CutPrefix(c.out.Text(), "ok ")
	if !ok {
		return "", errors.New(c.out.Text())
	}
	return who, nil
}

// Close implements [peer].
func (c *child) Close() error {
	return errors.Join(c.in.Close(), c.command.Wait())
}

// run runs a command of the preparation.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // our own commands
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// unpack writes the files of a folder of sources.
func unpack(from, to string) error {
	list, err := sources.ReadDir(from)
	for _, f := range list {
		var data []byte
		if data, err = sources.ReadFile(from + "/" + f.Name()); err == nil {
			err = os.WriteFile(filepath.Join(to, f.Name()), data, 0o600)
		}
		if err != nil {
			break
		}
	}
	return err
}

// prepareJS installs grpc-js in a folder.
func prepareJS(ctx context.Context, dir string) error {
	if err := unpack("js", dir); err != nil {
		return err
	}
	return run(ctx, dir, "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund")
}

// prepareCPP compiles the program in C++ in a folder.
func prepareCPP(ctx context.Context, dir string) error {
	if err := unpack("cpp", dir); err != nil {
		return err
	}
	flags, err := exec.CommandContext(ctx, "pkg-config", "--cflags", "--libs", "grpc++").Output()
	if err != nil {
		return fmt.Errorf("pkg-config grpc++ (Debian's package libgrpc++-dev): %w", err)
	}
	return run(ctx, dir, "g++", append([]string{"-std=c++17", "-o", "peer", "peer.cc"}, strings.Fields(string(flags))...)...)
}

// openChild returns a function that starts a client in a folder.
func openChild(dir string, command ...string) func(ctx context.Context, w *world, node string) (peer, error) {
	return func(ctx context.Context, w *world, node string) (peer, error) {
		file := filepath.Join(dir, "bootstrap.json")
		if err := os.WriteFile(file, w.bootstrap(node), 0o600); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, command[0], append(command[1:], target)...) //nolint:gosec // our own commands
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = append(os.Environ(), "GRPC_XDS_BOOTSTRAP="+file)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return &child{cmd, in, bufio.NewScanner(out)}, nil
	}
}
