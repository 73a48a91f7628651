package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
)

// A channelStory is a channel whose target is the service "echo", with its backends.
type channelStory struct {
	*istiod
	env      *xdsforge.Env
	cc       *grpc.ClientConn
	backends map[string]*backend
	addrs    map[string]string // of the backends
}

// channel tells the story of a channel.
func (i *istiod) channel(ctx context.Context, v variant) (_ string, err error) {
	s := &channelStory{istiod: i, backends: make(map[string]*backend), addrs: make(map[string]string)}
	defer func() {
		for _, b := range s.backends {
			b.stop()
		}
	}()
	for _, name := range []string{"a", "b", "c"} {
		s.backends[name] = newBackend(name)
		if s.addrs[name], err = s.backends[name].start(ctx, "127.0.0.1:0"); err != nil {
			return "", err
		}
	}
	if err := s.endpoints("a", "b"); err != nil {
		return "", err
	}
	defer s.clean()
	if err := i.known(ctx, "echo", s.addrs["b"]); err != nil {
		return "", err
	}
	config, err := i.bootstrap(node{ip: "10.9.9.1", name: "caller", kind: "sidecar", generator: "grpc"}, v, "")
	if err != nil {
		return "", err
	}
	s.env, err = xdsforge.NewEnv(xdsforge.WithTypes(grpcxds.Register), xdsforge.WithBootstrap(config), xdsforge.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return "", err
	}
	defer s.env.Close()
	s.cc, err = grpcxds.Dialer{Env: s.env}.NewClient("xds:///echo"+domain+":80", grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer s.cc.Close()
	if err := follows(ctx, s.cc, "the first calls reach a and b", only("a", "b")); err != nil {
		return "", err
	}
	t := startTraffic(ctx, s.cc)
	err = s.tell(ctx)
	calls, failure := t.stop()
	if err := errors.Join(err, failure); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d calls, none failed", calls), nil
}

// endpoints writes the endpoints of the service. Those of a have the version v1, and the others v2.
func (s *channelStory) endpoints(names ...string) error {
	list := make([]endpointOf, len(names))
	for n, name := range names {
		list[n] = endpointOf{s.addrs[name], "v2"}
		if name == "a" {
			list[n].label = "v1"
		}
	}
	return s.write("echo.yaml", service("echo", list...))
}

// clean removes the configuration.
func (s *channelStory) clean() {
	for _, name := range []string{"echo.yaml", "echo-rule.yaml", "echo-routes.yaml"} {
		_ = s.remove(name) // the story may not have written it
	}
}

// rule writes a DestinationRule with the subsets v1 and v2 and a policy.
func (s *channelStory) rule(policy string) error {
	return s.write("echo-rule.yaml", `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: echo, namespace: default}
spec:
  host: echo`+domain+`
  subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]
  trafficPolicy: `+policy+"\n")
}

// weights writes a VirtualService: the weights of v1 and v2, and further fields of the route. A call with x-fault is aborted.
func (s *channelStory) weights(v1, v2 int, more string) error {
	return s.write("echo-routes.yaml", fmt.Sprintf(`apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: echo, namespace: default}
spec:
  hosts: [echo%[1]s]
  http:
  - match: [{headers: {x-fault: {exact: abort}}}]
    fault: {abort: {percentage: {value: 100}, grpcStatus: RESOURCE_EXHAUSTED}}
    route: [{destination: {host: echo%[1]s, subset: v1}}]
  - route:
    - {destination: {host: echo%[1]s, subset: v1}, weight: %[2]d}
    - {destination: {host: echo%[1]s, subset: v2}, weight: %[3]d}
%[4]s`, domain, v1, v2, more))
}

// tell tells the steps.
func (s *channelStory) tell(ctx context.Context) error {
	for _, step := range []struct {
		event string
		f     func(ctx context.Context) error
	}{
		{"an endpoint is added", s.added},
		{"an endpoint is removed", s.removed},
		{"a DestinationRule adds subsets", func(ctx context.Context) error {
			if err := s.rule("{loadBalancer: {simple: ROUND_ROBIN}}"); err != nil {
				return err
			}
			return follows(ctx, s.cc, "calls reach all", only("a", "b"))
		}},
		{"a VirtualService has all calls reach v1", func(ctx context.Context) error { return s.moved(ctx, 100, 0, "a") }},
		{"the weights change", func(ctx context.Context) error { return s.moved(ctx, 0, 100, "b") }},
		{"a fault aborts calls", s.fault},
		{"retries", s.retries},
		{"a consistent hash", s.hash},
		{"istiod crashes and restarts", s.restart},
	} {
		start := time.Now()
		if err := step.f(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.event, err)
		}
		if s.verbose {
			fmt.Printf("  %s: %v\n", step.event, time.Since(start).Round(time.Millisecond))
		}
	}
	return nil
}

func (s *channelStory) added(ctx context.Context) error {
	if err := s.endpoints("a", "b", "c"); err != nil {
		return err
	}
	return follows(ctx, s.cc, "calls reach c, too", only("a", "b", "c"))
}

func (s *channelStory) removed(ctx context.Context) error {
	if err := s.endpoints("a", "b"); err != nil {
		return err
	}
	if err := follows(ctx, s.cc, "no call reaches c", only("a", "b")); err != nil {
		return err
	}
	s.backends["c"].stop()
	return nil
}

func (s *channelStory) moved(ctx context.Context, v1, v2 int, to string) error {
	if err := s.weights(v1, v2, ""); err != nil {
		return err
	}
	return follows(ctx, s.cc, "calls reach only "+to, only(to))
}

// fault expects the status of the VirtualService for calls with its header.
func (s *channelStory) fault(ctx context.Context) error {
	_, err := call(ctx, s.cc, whoMethod, "x-fault", "abort")
	if status.Code(err) != codes.ResourceExhausted {
		return fmt.Errorf("the call ends with %w; want RESOURCE_EXHAUSTED", err)
	}
	return nil
}

// retries expects the number of attempts that the VirtualService configures.
func (s *channelStory) retries(ctx context.Context) error {
	attempts := func(failures string) (string, error) {
		return call(ctx, s.cc, whoMethod, callKey, fmt.Sprint(time.Now().UnixNano()), failuresKey, failures)
	}
	if err := s.weights(0, 100, "    retries: {attempts: 0}\n"); err != nil {
		return err
	}
	if err := until(ctx, "no call is retried", func() bool { _, err := attempts("1"); return status.Code(err) == codes.Unavailable }); err != nil {
		return err
	}
	if err := s.weights(0, 100, "    retries: {attempts: 3, retryOn: unavailable}\n"); err != nil {
		return err
	}
	return until(ctx, "a call is retried three times", func() bool {
		_, fourth := attempts("3")
		_, fifth := attempts("4")
		return fourth == nil && status.Code(fifth) == codes.Unavailable
	})
}

// hash expects that calls with the same header reach the same backend, and different ones both.
func (s *channelStory) hash(ctx context.Context) error {
	if err := s.rule("{loadBalancer: {consistentHash: {httpHeaderName: x-user}}}"); err != nil {
		return err
	}
	if err := s.remove("echo-routes.yaml"); err != nil {
		return err
	}
	return until(ctx, "each user has a backend, and users have both", func() bool {
		var all []string
		for user := range 8 {
			seen, err := shares(ctx, s.cc, 10, "x-user", fmt.Sprint(user))
			if err != nil || len(seen) != 1 {
				return false
			}
			for name := range seen {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return len(slices.Compact(all)) == 2
	})
}

// restart expects that calls continue without istiod, and that changes after its restart arrive.
func (s *channelStory) restart(ctx context.Context) error {
	s.kill()
	if err := pause(ctx, time.Second); err != nil { // calls go on
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.rule("{loadBalancer: {simple: ROUND_ROBIN}}"); err != nil {
		return err
	}
	if err := follows(ctx, s.cc, "calls reach both", only("a", "b"), "x-user", "1"); err != nil {
		return err
	}
	if err := s.endpoints("b"); err != nil {
		return err
	}
	return follows(ctx, s.cc, "calls reach only b", only("b"))
}
