package xdsctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsforge/xdsforge/internal/memoryads"
)

func TestMain(m *testing.M) {
	if os.Getenv("XDSCTL_TEST_GRPCGO") != "" {
		if err := runGRPCGo(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testscript.Main(m, map[string]func(){
		"xdsctl": func() { os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
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

func TestScripts(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after all scripts
	p := &programs{planes: make(map[string]*memoryads.Server)}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Cmds:                p.commands(),
		Setup:               func(e *testscript.Env) error { return writeSet(filepath.Join(e.WorkDir, "set.binpb")) },
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	})
}

// writeSet writes a descriptor set with one message that the command does not link.
func writeSet(path string) error {
	field := &descriptorpb.FieldDescriptorProto{
		Name: new("size"), Number: new(int32(1)),
		Type: descriptorpb.FieldDescriptorProto_TYPE_UINT32.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: new("acme/v1/filter.proto"), Package: new("acme.v1"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Filter"), Field: []*descriptorpb.FieldDescriptorProto{field}}},
	}}})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
