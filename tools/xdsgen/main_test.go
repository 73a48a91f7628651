package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"xdsgen": func() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// exits runs a command that must end with the code that is the first argument.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [argument]...")
	}
	var failed *exec.ExitError
	code := 0
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d; want %s", code, args[0])
	}
}

// The scripts run in a folder of their own with a go.mod that has this
// repository in the place of its module, so that descriptors find its messages.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("FILES", filepath.Join(root, "tools", "xdsgen", "testdata", "files"))
			for _, name := range []string{"HOME", "GOCACHE", "GOMODCACHE", "GOPATH"} {
				e.Setenv(name, os.Getenv(name))
			}
			e.Setenv("GOPROXY", "off")
			e.Setenv("GOFLAGS", "-vet=off -ldflags=-w") // less work, which scripts with many packages notice
			if err := writeSet(filepath.Join(e.WorkDir, "set.binpb")); err != nil {
				return err
			}
			return copyModule(root, e.WorkDir)
		},
		Cmds:                map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "protoc": protoc},
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	})
}
