package csds_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/xdstest"
)

// dial starts a gRPC server with services, and returns a channel to it.
func dial(t *testing.T, register func(*grpc.Server)) *grpc.ClientConn {
	t.Helper()
	s := grpc.NewServer()
	register(s)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cc.Close()
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return cc
}

// A client of envoy.service.status.v3 reads the state over the network, by both methods.
func TestOnTheWire(t *testing.T) {
	plane := xdstest.Start(t, cluster.Type())
	plane.Set(validCluster("a", ""))
	env := plane.Env(xdsforge.WithTypes(standard.Register))
	for _, name := range []string{"one", "two"} {
		c, err := env.NewNamedClient(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		known := make(chan struct{})
		stop, err := cluster.Type().Subscribe(c, "a", func(cluster.Event) { close(known) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		<-known
	}
	cc := dial(t, func(s *grpc.Server) {
		if err := csds.Register(s); err != nil {
			t.Fatal(err)
		}
	})
	client := statusv3.NewClientStatusDiscoveryServiceClient(cc)
	check := func(resp *statusv3.ClientStatusResponse, err error) {
		t.Helper()
		if err != nil || len(resp.GetConfig()) != 2 {
			t.Fatalf("response = %v, %v; want two clients", resp, err)
		}
		for i, name := range []string{"one", "two"} {
			c := resp.GetConfig()[i]
			n := c.GetNode()
			if c.GetClientScope() != name || n.GetId() != env.Bootstrap().Node().GetId() || n.GetUserAgentName() == "" || len(n.GetClientFeatures()) == 0 {
				t.Errorf("client = %v, want %s with the node as sent", c, name)
			}
			if g := c.GetGenericXdsConfigs(); len(g) != 1 || g[0].GetClientStatus().String() != "ACKED" || g[0].GetTypeUrl() != cluster.Type().URL() || g[0].GetName() != "a" {
				t.Errorf("resources = %v, want the cluster", g)
			}
		}
	}
	check(client.FetchClientStatus(t.Context(), new(statusv3.ClientStatusRequest)))
	stream, err := client.StreamClientStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := stream.Send(new(statusv3.ClientStatusRequest)); err != nil {
			t.Fatal(err)
		}
		check(stream.Recv())
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if resp, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last request: %v, %v; want the end", resp, err)
	}
}

// A request with node_matchers is refused by both methods (gRFC A40).
func TestNodeMatchersAreRefused(t *testing.T) {
	client := statusv3.NewClientStatusDiscoveryServiceClient(dial(t, func(s *grpc.Server) {
		if err := csds.Register(s); err != nil {
			t.Fatal(err)
		}
	}))
	req := &statusv3.ClientStatusRequest{NodeMatchers: []*matcherv3.NodeMatcher{{}}}
	check := func(err error) {
		t.Helper()
		if s := grpcstatus.Convert(err); s.Code() != codes.InvalidArgument || !strings.Contains(s.Message(), "node_matchers") {
			t.Errorf("error = %v, want INVALID_ARGUMENT that names node_matchers", err)
		}
	}
	_, err := client.FetchClientStatus(t.Context(), req)
	check(err)
	stream, err := client.StreamClientStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(req); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	check(err)
}

// A request can leave out the content of resources, and nothing else.
func TestExcludeResourceContents(t *testing.T) {
	inWorld(t, func(w *world) {
		w.set("a", validCluster("a", ""))
		watch(w, cluster.Type(), "a")
		s := serve(w.T, csds.Config{Others: []statusv3.ClientStatusDiscoveryServiceServer{&others{resource: new(anypb.Any)}}}, w.env)
		for exclude, want := range map[bool]int{false: 2, true: 0} {
			resp, err := s.FetchClientStatus(w.Context(), &statusv3.ClientStatusRequest{ExcludeResourceContents: exclude})
			if err != nil || len(resp.GetConfig()) != 2 {
				w.Fatal(resp, err)
			}
			n := 0
			for _, c := range resp.GetConfig() {
				if c.GetGenericXdsConfigs()[0].GetXdsConfig() != nil {
					n++
				}
			}
			if g := resp.GetConfig()[0].GetGenericXdsConfigs()[0]; n != want || g.GetVersionInfo() == "" || g.GetLastUpdated() == nil {
				w.Errorf("exclude_resource_contents = %v: %d resources with content, want %d with version and time: %v", exclude, n, want, resp)
			}
		}
	})
}

// Given environments are served in their order. Without any, all open ones are, and then the clients
// of other services.
func TestEnvironments(t *testing.T) {
	plane := xdstest.Start(t, cluster.Type())
	var envs []*xdsforge.Env
	for _, name := range []string{"first", "second"} {
		env := plane.Env(xdsforge.WithTypes(standard.Register))
		c, err := env.NewNamedClient(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		envs = append(envs, env)
	}
	other := csds.Config{Others: []statusv3.ClientStatusDiscoveryServiceServer{&others{scope: "other"}}}
	for want, s := range map[string]statusv3.ClientStatusDiscoveryServiceServer{
		"second":             serve(t, csds.Config{}, envs[1]),
		"second first":       serve(t, csds.Config{}, envs[1], envs[0]),
		"first second":       serve(t, csds.Config{}),
		"first second other": serve(t, other),
		"first other":        serve(t, other, envs[0]),
	} {
		var scopes []string
		for _, c := range fetch(t, s, new(statusv3.ClientStatusRequest)).GetConfig() {
			scopes = append(scopes, c.GetClientScope())
		}
		if got := strings.Join(scopes, " "); got != want {
			t.Errorf("clients = %q, want %q", got, want)
		}
	}
}

// A call ends with its context, or with the error of another service.
func TestFailures(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if _, err := serve(w.T, csds.Config{}, w.env).FetchClientStatus(ctx, nil); grpcstatus.Code(err) != codes.Canceled {
			w.Errorf("error = %v, want CANCELED", err)
		}
		failing := grpcstatus.Error(codes.DataLoss, "other")
		s := serve(w.T, csds.Config{Others: []statusv3.ClientStatusDiscoveryServiceServer{&others{err: failing}}}, w.env)
		if _, err := s.FetchClientStatus(w.Context(), nil); !errors.Is(err, failing) {
			w.Errorf("error = %v, want %v", err, failing)
		}
		synctest.Wait()
	})
}

// Register reports misuse instead of ending the process, as grpc-go does for a second service.
func TestRegisterMisuse(t *testing.T) {
	var r registrar
	for want, err := range map[string]error{
		"environment 1": csds.Register(&r, nil),
		"environment 2": csds.Register(&r, xdstest.Start(t, cluster.Type()).Env(xdsforge.WithTypes(standard.Register)), new(xdsforge.Env)),
		"Others[0]":     csds.Config{Others: []statusv3.ClientStatusDiscoveryServiceServer{nil}}.Register(&r),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one that names %s", err, want)
		}
	}
	if r.service != nil {
		t.Error("a service was registered in spite of the error")
	}
	s := grpc.NewServer()
	defer s.Stop()
	if err := csds.Register(s); err != nil {
		t.Fatal(err)
	}
	if err := csds.Register(s); err == nil || !strings.Contains(err.Error(), "csds.Config.Others") {
		t.Errorf("second Register: %v; want an error that says how to combine services", err)
	}
}

// A name that is not valid UTF-8 does not make the response invalid.
func TestInvalidText(t *testing.T) {
	inWorld(t, func(w *world) {
		c, err := w.env.NewNamedClient("\xff")
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		resp := fetch(w.T, serve(w.T, csds.Config{}, w.env), new(statusv3.ClientStatusRequest))
		if got := resp.GetConfig()[1].GetClientScope(); got != "\uFFFD" {
			w.Errorf("scope = %q", got)
		}
	})
}
