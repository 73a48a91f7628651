package grpcxds_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/grpc"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	channelz "google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/scrape"
)

// attempts counts the attempts of each call, by its header "id". All of them fail.
type attempts struct {
	mu    sync.Mutex
	calls map[string]int
}

func (a *attempts) intercept(_ any, s grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range md["id"] {
		a.calls[id]++
	}
	return status.Error(codes.Unavailable, "not now")
}

func (a *attempts) of(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[id]
}

// most returns the largest number of attempts of a call.
func (a *attempts) most() (most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.calls {
		most = max(most, n)
	}
	return most
}

const retryPolicy = `retry_policy { retry_on: "unavailable" num_retries { value: 4 } retry_back_off { base_interval { nanos: 1000000 } } } `

// Routes with one retry policy, and with two. The calls of both have the same policy.
var (
	oneRetryPolicy   = retryPolicy + to("c")
	twoRetryPolicies = retryPolicy + `routes { match { path: "/other/M" } route { cluster: "c" retry_policy { retry_on: "internal" } } } ` + to("c")
)

// A fakeRegistrar takes the service of channelz.
type fakeRegistrar struct{ channelzpb.ChannelzServer }

func (r *fakeRegistrar) RegisterService(_ *grpc.ServiceDesc, impl any) {
	r.ChannelzServer = impl.(channelzpb.ChannelzServer)
}

// If all routes have one retry policy, gRPC retries, so that its own options apply and channelz counts calls. Otherwise the
// interceptors retry.
func TestWhoRetries(t *testing.T) {
	var catalogue fakeRegistrar
	channelz.RegisterChannelzServiceToServer(&catalogue) // switches channelz on
	seen := &attempts{calls: make(map[string]int)}
	p := newPlane(t)
	p.cluster("c", "c", newBackend(t, "b", grpc.StreamInterceptor(seen.intercept)))
	p.listener("one", fmt.Sprintf(`route_config { %s }`, hosts("*", oneRetryPolicy)))
	p.listener("two", fmt.Sprintf(`route_config { %s }`, hosts("*", twoRetryPolicies)))
	config := fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())
	env := newEnv(t, config)
	measured := newEnv(t, config, xdsforge.WithMeterProvider(scrape.NewMeter()))
	for i, test := range []struct {
		name   string
		dialer grpcxds.Dialer
		target string
		opts   []grpc.DialOption
		want   int
		calls  int64 // in channelz
	}{
		{"one policy", grpcxds.Dialer{Env: env}, "one", nil, 5, 1},
		{"one policy, fewer attempts by an option", grpcxds.Dialer{Env: env}, "one", []grpc.DialOption{grpc.WithMaxCallAttempts(3)}, 3, 1},
		{"one policy, retries disabled by an option", grpcxds.Dialer{Env: env}, "one", []grpc.DialOption{grpc.WithDisableRetry()}, 1, 1},
		{"one policy, retries disabled by the dialer", grpcxds.Dialer{Env: env, DisableRetries: true}, "one", nil, 1, 1},
		{"one policy, with metrics", grpcxds.Dialer{Env: measured}, "one", nil, 5, 5},
		{"two policies", grpcxds.Dialer{Env: env}, "two", nil, 5, 5},
		{"two policies, retries disabled by the dialer", grpcxds.Dialer{Env: env, DisableRetries: true}, "two", nil, 1, 1},
	} {
		id := fmt.Sprint(i)
		cc := dialWith(t, test.dialer, "xds:///"+test.target, test.opts...)
		_, err := call(metadata.AppendToOutgoingContext(soon(t), "id", id), cc, "/p.S/M")
		if n := seen.of(id); status.Code(err) != codes.Unavailable || n != test.want {
			t.Errorf("%s: %v after %d attempts; want UNAVAILABLE after %d", test.name, err, n, test.want)
		}
		if n := started(t, &catalogue, cc); n != test.calls {
			t.Errorf("%s: channelz has %d calls; want %d", test.name, n, test.calls)
		}
		_ = cc.Close()
	}
}

// started returns the number of calls of a channel in channelz. It must be the only channel to the target.
func started(t *testing.T, c channelzpb.ChannelzServer, cc *grpc.ClientConn) int64 {
	t.Helper()
	got, err := c.GetTopChannels(t.Context(), &channelzpb.GetTopChannelsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, channel := range got.GetChannel() {
		if channel.GetData().GetTarget() == cc.Target() {
			return channel.GetData().GetCallsStarted()
		}
	}
	t.Fatalf("channelz lacks the channel to %s", cc.Target())
	return 0
}

// A change between gRPC's retries and those of the interceptors never multiplies the attempts of calls, unary or streams.
func TestChangesDoNotMultiplyAttempts(t *testing.T) {
	seen := &attempts{calls: make(map[string]int)}
	p := newPlane(t)
	p.cluster("c", "c", newBackend(t, "b", grpc.StreamInterceptor(seen.intercept)))
	p.listener("svc", rds("r"))
	p.routes("r", hosts("svc", oneRetryPolicy))
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())), "xds:///svc")
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	var calls sync.WaitGroup
	var counted [8]int
	for i := range counted {
		calls.Go(func() {
			for ; ctx.Err() == nil; counted[i]++ {
				id := metadata.AppendToOutgoingContext(ctx, "id", fmt.Sprintf("%d-%d", i, counted[i]))
				if i%2 == 0 {
					_, _ = call(id, cc, "/p.S/M")
				} else if s, err := cc.NewStream(id, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/p.S/M"); err == nil {
					_ = s.RecvMsg(nil)
				}
			}
		})
	}
	for i := range 60 {
		p.routes("r", hosts("svc", []string{twoRetryPolicies, oneRetryPolicy}[i%2]))
		for n := range 3 { // so that the change arrives
			_, _ = call(metadata.AppendToOutgoingContext(ctx, "id", fmt.Sprintf("change-%d-%d", i, n)), cc, "/p.S/M")
		}
	}
	cancel()
	calls.Wait()
	p.routes("r", hosts("svc", strings.ReplaceAll(twoRetryPolicies, "value: 4", "value: 3")))
	last := soon(t)
	for i := 0; ; i++ {
		id := fmt.Sprintf("last-%d", i)
		_, _ = call(metadata.AppendToOutgoingContext(last, "id", id), cc, "/p.S/M")
		if seen.of(id) == 4 {
			break
		}
		if last.Err() != nil {
			t.Fatal("after the last change, no call has the 4 attempts of the new policy")
		}
	}
	if n := seen.most(); n != 5 {
		t.Errorf("a call had %d attempts; want 5, as the policy has", n)
	}
}

// gRPC does not retry calls that load balancing refuses. A retry would wait until the call ends.
func TestRefusedCallsAreNotRetriedByGRPC(t *testing.T) {
	p := newPlane(t)
	p.set("c", new(clusterv3.Cluster), `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } circuit_breakers { thresholds { max_requests { value: 0 } } }`)
	p.endpoints("c", newBackend(t, "b"))
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, hosts("*", `retry_policy { retry_on: "unavailable" num_retries { value: 4 }
		retry_back_off { base_interval { seconds: 1000 } } } `+to("c"))))
	cc := newChannel(t, newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry())), "xds:///svc")
	if _, err := call(soon(t), cc, "/p.S/M"); status.Code(err) != codes.Unavailable {
		t.Errorf("a refused call: %v; want UNAVAILABLE at once", err)
	}
}
