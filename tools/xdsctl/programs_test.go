package xdsctl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/xds" // the resolver of grpc-go
	"google.golang.org/grpc/xds/csds"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/adminxds"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/configfile"
)

// programs are the control planes of the scripts that run, by their addresses.
type programs struct{ planes map[string]*memoryads.Server }

// commands are the commands of the scripts.
func (p *programs) commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"exits": exits, "until": until, "plane": p.plane, "set": p.set, "delete": p.remove, "ours": p.ours, "grpcgo": p.grpcgo, "replay": p.replay, "record": p.record,
	}
}

// plane starts a control plane with the resources of files, and sets a variable to its address.
func (p *programs) plane(ts *testscript.TestScript, _ bool, args []string) {
	s := memoryads.NewServer(memoryads.Type{URL: listener.Type().URL(), Complete: true, Wildcard: true}, memoryads.Type{URL: route.Type().URL()},
		memoryads.Type{URL: cluster.Type().URL(), Complete: true, Wildcard: true}, memoryads.Type{URL: endpoint.Type().URL()},
		memoryads.Type{URL: extension.Type().URL()})
	addr, stop, err := s.Listen()
	ts.Check(err)
	ts.Defer(stop)
	ts.Setenv(args[0], addr)
	p.planes[addr] = s
	p.fill(ts, s, args[1:])
	writeBootstraps(ts, args[0], addr)
}

func bootstrapOf(addr string) []byte {
	return fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}], "node": {"id": "test-node"}}`, addr)
}

// set gives a control plane the resources of files.
func (p *programs) set(ts *testscript.TestScript, _ bool, args []string) {
	p.fill(ts, p.planes[args[0]], args[1:])
}

func (p *programs) fill(ts *testscript.TestScript, s *memoryads.Server, files []string) {
	for _, f := range files {
		items, err := configfile.Reader{Types: new(configfile.Types)}.ReadFile(ts.MkAbs(f))
		ts.Check(err)
		for _, item := range items {
			if item.Resource == nil {
				ts.Fatalf("%s: %v", f, item.Problems)
			}
			s.Set(item.Resource.GetTypeUrl(), memoryads.Resource{Name: item.OwnName(), Body: item.Resource.GetValue()})
		}
	}
}

// remove deletes a resource of a control plane.
func (p *programs) remove(_ *testscript.TestScript, _ bool, args []string) {
	p.planes[args[0]].Delete("type.googleapis.com/"+fullName(args[1]), args[2:]...)
}

// ours starts channels of this module, and sets a variable to the address of their admin services.
func (p *programs) ours(ts *testscript.TestScript, _ bool, args []string) {
	config, err := bootstrap.Parse(bootstrapOf(args[1]))
	ts.Check(err)
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(config), xdsforge.WithTypes(grpcxds.Register))
	ts.Check(err)
	ts.Defer(func() { _ = env.Close() })
	for _, target := range args[2:] {
		cc, err := grpcxds.Dialer{Env: env}.NewClient(target, grpcxds.WithCredentials(insecure.NewCredentials()))
		ts.Check(err)
		ts.Defer(func() { _ = cc.Close() })
		cc.Connect()
	}
	s := grpc.NewServer()
	ts.Check(adminxds.Register(s, env))
	ts.Setenv(args[0], serve(ts, s))
}

func serve(ts *testscript.TestScript, s *grpc.Server) string {
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(lis) // ends with Stop
	}()
	ts.Defer(func() {
		s.Stop()
		<-done
	})
	return lis.Addr().String()
}

// grpcgo starts a process with channels of grpc-go, and sets a variable to the address of its CSDS.
func (p *programs) grpcgo(ts *testscript.TestScript, _ bool, args []string) {
	self, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(self, args[2:]...)
	cmd.Args[0] = filepath.Join(ts.Getenv("WORK"), grpcgoName)
	cmd.Env = append(os.Environ(), "XDSCTL_TEST_GRPCGO=1", bootstrap.EnvContent+"="+string(bootstrapOf(args[1])), bootstrap.EnvFile+"=")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = errors.Join(stdin.Close(), cmd.Wait()) })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	ts.Check(err)
	ts.Setenv(args[0], strings.TrimSpace(line))
}

const grpcgoName = "grpcgo"

// runGRPCGo is the process of grpcgo. It ends with its standard input.
func runGRPCGo(targets []string) error {
	for _, target := range targets {
		cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer cc.Close() //nolint:gocritic // the process ends with this function
		cc.Connect()
	}
	service, err := csds.NewClientStatusDiscoveryServer()
	if err != nil {
		return err
	}
	defer service.Close()
	s := grpc.NewServer()
	statusv3.RegisterClientStatusDiscoveryServiceServer(s, service)
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(lis.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	return s.Serve(lis)
}

// until runs a command until its output matches, whatever its exit code is.
func until(ts *testscript.TestScript, neg bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		_ = ts.Exec(args[1], args[2:]...)
		if out := ts.ReadFile("stdout"); pattern.MatchString(out) != neg {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			ts.Fatalf("no output matches %q; the last is:\n%s%s", args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
	}
}

// replay starts the command replay, and sets a variable to its address.
func (p *programs) replay(ts *testscript.TestScript, _ bool, args []string) {
	p.serve(ts, args[0], "replay", ts.MkAbs(args[1]))
}

// record starts the command record, and sets a variable to its address.
func (p *programs) record(ts *testscript.TestScript, _ bool, args []string) {
	p.serve(ts, args[0], "record", ts.MkAbs(args[1]), "--bootstrap", ts.MkAbs(args[2]))
}

// serve runs a command that serves until the script ends, and sets a variable to its address. It
// writes bootstraps for it, as plane does.
func (p *programs) serve(ts *testscript.TestScript, name string, args ...string) {
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, append(args, "--listen", "127.0.0.1:0"), strings.NewReader(""), in, os.Stderr)
		_ = in.Close()
	}()
	ts.Defer(func() {
		cancel()
		if code := <-done; code != exitOK {
			ts.Logf("%s ended with %d", args[0], code)
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	ts.Check(err)
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	addr := strings.TrimSpace(strings.TrimPrefix(line, "serving at "))
	ts.Setenv(name, addr)
	writeBootstraps(ts, name, addr)
}

// writeBootstraps writes the bootstraps of a control plane, for each variant of ADS.
func writeBootstraps(ts *testscript.TestScript, name, addr string) {
	text := string(bootstrapOf(addr))
	ts.Check(os.WriteFile(ts.MkAbs(name+".json"), []byte(text), 0o600))
	delta := strings.Replace(text, `"channel_creds"`, `"server_features": ["xds.transport.delta"], "channel_creds"`, 1)
	ts.Check(os.WriteFile(ts.MkAbs(name+"-delta.json"), []byte(delta), 0o600))
}
