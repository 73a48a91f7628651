package grpcxds_test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/rls"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
)

// A lookup is a route lookup server. The target of a call is the value of its key "to".
type lookup struct {
	addr string

	mu    sync.Mutex
	asked map[string]int // by target
}

func newLookup(t *testing.T) *lookup {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &lookup{addr: lis.Addr().String(), asked: make(map[string]int)}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
		m := new(emptypb.Empty) // grpc-go does not export the messages, so the test reads unknown fields
		if err := ss.RecvMsg(m); err != nil {
			return err
		}
		target := keyOf(m.ProtoReflect().GetUnknown(), "to")
		l.mu.Lock()
		l.asked[target]++
		l.mu.Unlock()
		const targets = 3
		m.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, targets, protowire.BytesType), target))
		return ss.SendMsg(m)
	}))
	go func() { _ = s.Serve(lis) }() // ends with Stop
	t.Cleanup(s.Stop)
	return l
}

// keyOf returns a value of the key_map of an encoded RouteLookupRequest.
func keyOf(request []byte, key string) string {
	const keyMap = 4
	for len(request) > 0 {
		number, kind, n := protowire.ConsumeTag(request)
		m := protowire.ConsumeFieldValue(number, kind, request[n:])
		if number == keyMap {
			value, _ := protowire.ConsumeBytes(request[n:])
			if entry := fields(value); entry[1] == key {
				return entry[2]
			}
		}
		request = request[n+m:]
	}
	return ""
}

// fields returns the strings of an encoded message.
func fields(message []byte) map[protowire.Number]string {
	out := make(map[protowire.Number]string)
	for len(message) > 0 {
		number, _, n := protowire.ConsumeTag(message)
		value, m := protowire.ConsumeString(message[n:])
		out[number] = value
		message = message[n+m:]
	}
	return out
}

// count returns how often clients looked up a target.
func (l *lookup) count(target string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[target]
}

// config is the configuration of the RLS policy (in gRFC A52, a cluster specifier plugin names an
// LB policy). byDefault is the target of calls whose lookup fails. If it is empty, these calls
// fail.
func (l *lookup) config(byDefault string) resource.LBConfig {
	return resource.LBConfig{Name: "rls_experimental", Config: fmt.Sprintf(`{
		"routeLookupConfig": {
			"grpcKeybuilders": [{"names": [{"service": "p.S"}], "headers": [{"key": "to", "names": ["to"]}]}],
			"lookupService": "passthrough:///%s", "lookupServiceTimeout": "10s", "maxAge": "300s", "cacheSizeBytes": "10000", "defaultTarget": %q
		},
		"childPolicy": [{%q: {}}], "childPolicyConfigTargetFieldName": "cluster"
	}`, l.addr, byDefault, clustermanager.Name)}
}

// env returns an Env whose cluster specifier plugin is an LB policy. The plugin's configuration is
// a google.protobuf.Empty.
func (p *plane) env(policy resource.LBConfig) *xdsforge.Env {
	p.Helper()
	return newEnv(p, fmt.Sprintf(`{"xds_servers": [%s]}`, p.entry()), xdsforge.WithTypes(func(r xdsforge.Registrar) {
		r.Extend(&resource.ClusterSpecifier{
			Config: "google.protobuf.Empty",
			Parse:  func(*resource.DecodeContext, resource.TypedConfig) (resource.LBConfig, error) { return policy, nil },
		})
	}))
}

const (
	lookupPlugin = `cluster_specifier_plugins { extension { name: "rls" typed_config { [type.googleapis.com/google.protobuf.Empty] {} } } } `
	toPlugin     = `routes { match { prefix: "/p.S/" } route { cluster_specifier_plugin: "rls" } }`
)

// untilAt is until, for calls that have a key for the lookup.
func untilAt(t *testing.T, cc *grpc.ClientConn, target, who string) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(soon(t), "to", target)
	for {
		got, err := call(ctx, cc, "/p.S/M")
		switch {
		case got == who:
			return
		case ctx.Err() != nil:
			t.Fatalf("no call to %q reaches %s; the last one reached %q, %v", target, who, got, err)
		}
	}
}

// grpc-go's RLS policy chooses clusters, with and without a default target. It compares its
// configurations and writes into them. So it must never get the same one twice, or its children
// would get no updates. Clusters, endpoints and routes change below it.
func TestRouteLookup(t *testing.T) {
	for _, byDefault := range []string{"", "a"} {
		t.Run("default target "+byDefault, func(t *testing.T) {
			p, l := newPlane(t), newLookup(t)
			a, b, other := newBackend(t, "a"), newBackend(t, "b"), newBackend(t, "other")
			p.cluster("a", "a", a)
			p.cluster("b", "b", b)
			p.listener("svc", rds("r"))
			p.routes("r", lookupPlugin+hosts("svc", toPlugin))
			cc := newChannel(t, p.env(l.config(byDefault)), "xds:///svc")
			untilAt(t, cc, "a", "a")
			untilAt(t, cc, "b", "b")
			for _, who := range []*backend{other, b, other} {
				p.endpoints("b", who)
				untilAt(t, cc, "b", who.name)
			}
			p.cluster("b", "elsewhere", b)
			untilAt(t, cc, "b", "b")
			untilAt(t, cc, "a", "a")
			if n := l.count("b"); n != 1 {
				t.Errorf("the target of one key was looked up %d times", n)
			}
		})
	}
}

// Between the first update of the RLS policy and the first lookup, a cluster of the routes gets
// another endpoint, and another cluster appears. The RLS policy ignores updates until it has a
// child, and starts its first child with the first update. The child must use the newest
// configuration nevertheless.
func TestRouteLookupBeginsWithTheNewest(t *testing.T) {
	for _, target := range []string{"c", "late"} {
		t.Run(target, func(t *testing.T) {
			p, l := newPlane(t), newLookup(t)
			before, after, late := newBackend(t, "before"), newBackend(t, "after"), newBackend(t, "late")
			p.cluster("c", "c", before)
			p.cluster("late", "late", late)
			p.listener("svc", rds("r"))
			direct := func(cluster string) string {
				return fmt.Sprintf(`routes { match { prefix: "/%[1]s" } route { cluster: %[1]q } } `, cluster)
			}
			p.routes("r", lookupPlugin+hosts("svc", direct("c")+toPlugin))
			cc := newChannel(t, p.env(l.config("")), "xds:///svc")
			answered := func(cluster, who string) {
				t.Helper()
				ctx := soon(t)
				for got := ""; got != who; got, _ = call(ctx, cc, "/"+cluster+"/M") {
					if ctx.Err() != nil {
						t.Fatalf("%s is never the one that answers", who)
					}
				}
			}
			answered("c", "before")
			// The RLS policy is built for this call but looks up nothing, because a method has two
			// slashes.
			if _, err := call(soon(t), cc, "/p.S/M/"); !strings.Contains(fmt.Sprint(err), "/service/method") {
				t.Fatalf("a call without a method: %v; want the RLS policy to refuse it", err)
			}
			p.endpoints("c", after)
			answered("c", "after")
			p.routes("r", lookupPlugin+hosts("svc", direct("c")+direct("late")+toPlugin))
			answered("late", "late")
			want := map[string]string{"c": "after", "late": "late"}[target]
			ctx := metadata.AppendToOutgoingContext(soon(t), "to", target)
			if got, err := call(ctx, cc, "/p.S/M"); got != want {
				t.Errorf("the first call after a lookup reached %q, %v; want %s", got, err, want)
			}
			if n := l.count(target); n != 1 {
				t.Errorf("%d lookups; want 1", n)
			}
		})
	}
}

// A call fails if its lookup returns no cluster.
func TestRouteLookupWithoutACluster(t *testing.T) {
	p, l := newPlane(t), newLookup(t)
	p.listener("svc", fmt.Sprintf(`route_config { %s }`, lookupPlugin+hosts("svc", toPlugin)))
	cc := newChannel(t, p.env(l.config("")), "xds:///svc")
	_, err := call(soon(t), cc, "/p.S/M")
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `cluster = ""`) {
		t.Errorf("%v; want UNAVAILABLE that names the missing cluster", err)
	}
	if n := l.count(""); n != 1 {
		t.Errorf("%d lookups; want 1", n)
	}
}
