package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/xdstest"
)

// beProgram is the environment variable that turns the test binary into the program.
const beProgram = "XDSFORGE_TEST_BE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestProgram expects the program to print a cluster of the control plane.
func TestProgram(t *testing.T) {
	cp := xdstest.Start(t, cluster.Type())
	m := new(clusterv3.Cluster)
	if err := prototext.Unmarshal([]byte(`name: "checkout" type: EDS eds_cluster_config { eds_config { ads {} } service_name: "checkout-endpoints" }`), m); err != nil {
		t.Fatal(err)
	}
	cp.Set(m)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), beProgram+"=1", bootstrap.EnvFile+"=",
		bootstrap.EnvContent+"="+string(cp.BootstrapJSON()))
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "checkout-endpoints") {
		t.Errorf("the program prints %q, %v; want the cluster", line, err)
	}
	cancel()
	_ = cmd.Wait() // killed
}

// TestSize limits the program to 17 lines, without empty lines and comments, and to two imports of
// this module.
func TestSize(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines, imports := 0, 0
	for line := range strings.Lines(string(source)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
		if strings.HasPrefix(line, `"github.com/xdsforge/`) {
			imports++
		}
	}
	if lines > 17 || imports != 2 {
		t.Errorf("%d lines, %d imports; want at most 17 and 2", lines, imports)
	}
}
