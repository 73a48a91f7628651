package clustermanager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/stats/telemetry"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// fixed is a picker that always returns the same result.
type fixed struct {
	result balancer.PickResult
	err    error
}

func (f *fixed) Pick(balancer.PickInfo) (balancer.PickResult, error) { return f.result, f.err }

// newClusterPicker is a picker of a cluster with all that costs something.
func newClusterPicker(child *fixed, authority string) (*clusterPicker, *subConn) {
	m := outlier.New(nil)
	m.Configure(&cluster.OutlierDetection{FailurePercentage: cluster.FailurePercentage{Enforcement: 1}}, []string{"a"}, m0)
	counts := load.NewStore(nil).Cluster("c", "")
	a := &account{breaker: new(breaker.Set).Acquire("c", ""), load: counts.Locality(load.LocalityID{}, load.Propagation{}), outlier: m.Endpoint("a")}
	if authority != "" {
		a.authority = metadata.Pairs(":authority", authority)
	}
	sc := new(subConn)
	sc.account.Store(a.open())
	if child.err == nil {
		child.result.SubConn = sc
	}
	return &clusterPicker{
		refused: new(atomic.Uint64), dropped: []*atomic.Uint64{new(atomic.Uint64), new(atomic.Uint64)},
		name: "c", drops: []endpoint.Drop{{Category: "x"}, {Category: "y"}}, breaker: a.breaker, most: 1, load: counts,
		child: balancer.State{ConnectivityState: connectivity.Ready, Picker: child},
		find:  labels.New(), labels: labels.Of(nil),
	}, sc
}

func TestPickAllocatesNothing(t *testing.T) {
	p, _ := newClusterPicker(new(fixed), "host")
	info := balancer.PickInfo{Ctx: lbtree.WithCall(t.Context(), &lbtree.Call{AutoHostRewrite: true})}
	if n := testing.AllocsPerRun(100, func() {
		r, err := p.Pick(info)
		if err != nil {
			t.Fatal(err)
		}
		r.Done(balancer.DoneInfo{})
	}); n > 0 {
		t.Errorf("a pick makes %v allocations, want none", n)
	}
}

// A call that gets no endpoint has the labels of its cluster. One that does has those of its endpoint.
func TestPickSetsLabels(t *testing.T) {
	got := make(map[string]string)
	ctx := telemetry.NewContextWithLabelCallback(t.Context(), func(l map[string]string) { maps.Copy(got, l) })
	child := &fixed{err: balancer.ErrNoSubConnAvailable}
	waiting, _ := newClusterPicker(child, "")
	dropping, _ := newClusterPicker(new(fixed), "")
	dropping.drops[0].PerMillion = million
	for _, p := range []*clusterPicker{waiting, dropping} {
		clear(got)
		if _, err := p.Pick(balancer.PickInfo{Ctx: ctx}); err == nil || len(got) != 2 || got[labels.ServiceName] != "unknown" {
			t.Errorf("labels %v, %v; want those of the cluster, and an error", got, err)
		}
	}
	p, sc := newClusterPicker(new(fixed), "")
	sc.account.Load().labels = labels.OfEndpoint("c", endpoint.LocalityID{Region: "r"})
	if _, err := p.Pick(balancer.PickInfo{Ctx: ctx}); err != nil || len(got) != 4 || got[labels.Locality] != `{region="r", zone="", sub_zone=""}` {
		t.Errorf("labels %v, %v; want those of the cluster and of the endpoint", got, err)
	}
}

// The picker keeps the Done function and the metadata of the child policy.
func TestPickKeepsWhatThePolicySays(t *testing.T) {
	done := 0
	below := metadata.Pairs("key", "value")
	child := &fixed{result: balancer.PickResult{Metadata: below, Done: func(balancer.DoneInfo) { done++ }}}
	p, sc := newClusterPicker(child, "host")
	ctx := lbtree.WithCall(t.Context(), &lbtree.Call{AutoHostRewrite: true})
	for range 3 { // one at a time, which is the breaker's limit
		r, err := p.Pick(balancer.PickInfo{Ctx: ctx})
		if err != nil {
			t.Fatal(err)
		}
		if r.SubConn != sc.SubConn {
			t.Error("grpc must get its own subchannel")
		}
		if got := fmt.Sprint(map[string][]string(r.Metadata)); got != "map[:authority:[host] key:[value]]" {
			t.Errorf("metadata = %s", got)
		}
		if _, err := p.Pick(balancer.PickInfo{Ctx: ctx}); status.Code(err) != codes.Unavailable {
			t.Errorf("a second call at a time: %v", err)
		}
		r.Done(balancer.DoneInfo{})
	}
	if done != 3 || len(below) != 1 {
		t.Errorf("the policy's Done was called %d times, want 3; its metadata is %v", done, below)
	}
}

// A failed pick counts no call. Its error has the cluster's name and note, unless it is the
// policy's own status.
func TestPickFails(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"waits":        {balancer.ErrNoSubConnAvailable, balancer.ErrNoSubConnAvailable.Error()},
		"own status":   {status.Error(codes.Aborted, "mine"), "rpc error: code = Aborted desc = mine"},
		"a failure":    {errors.New("connection refused"), `cluster "c": connection refused (node x)`},
		"no endpoints": {lbtree.Fail{Err: errors.New("no")}.Err, `cluster "c": no (node x)`},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newClusterPicker(&fixed{err: test.err}, "")
			p.note = errors.New("node x")
			for range 3 {
				if _, err := p.Pick(balancer.PickInfo{Ctx: context.Background()}); err.Error() != test.want {
					t.Errorf("Pick = %v, want %s", err, test.want)
				}
			}
		})
	}
}

// The status code of a control plane does not become that of the call (A54).
func TestReasonsAreText(t *testing.T) {
	leak := fmt.Errorf("config: %w", status.Error(codes.PermissionDenied, "secret"))
	for _, err := range []error{clusterError("c", leak, leak), clusterError("c", leak, nil)} {
		if _, ok := status.FromError(err); ok || !strings.Contains(err.Error(), "secret") {
			t.Errorf("%v is a status; must be text", err)
		}
	}
}

// The errors of a channel name its target. They stay statuses, and keep the sign of an open circuit. A call that waits
// has the error of gRPC.
func TestErrorsNameTheTarget(t *testing.T) {
	text := errors.New("refused")
	open := &statusError{status: status.New(codes.Unavailable, "too many"), overflow: true}
	shut := &statusError{status: status.New(codes.Unavailable, "dropped")}
	for _, test := range []struct {
		where    string
		err      error
		want     string
		code     codes.Code
		overflow bool
	}{
		{"", text, "refused", codes.Unknown, false},
		{"", open, open.Error(), codes.Unavailable, true},
		{"xds:///x", text, "xds:///x: refused", codes.Unknown, false},
		{"xds:///x", status.Error(codes.Aborted, "policy"), "rpc error: code = Aborted desc = xds:///x: policy", codes.Aborted, false},
		{"xds:///x", open, "rpc error: code = Unavailable desc = xds:///x: too many", codes.Unavailable, true},
		{"xds:///x", shut, "rpc error: code = Unavailable desc = xds:///x: dropped", codes.Unavailable, false},
		{"xds:///x", balancer.ErrNoSubConnAvailable, balancer.ErrNoSubConnAvailable.Error(), codes.Unknown, false},
	} {
		err := (&routePicker{where: test.where}).withTarget(test.err)
		var e *statusError
		overflow := errors.As(err, &e) && e.Overflow()
		if err.Error() != test.want || status.Code(err) != test.code || overflow != test.overflow {
			t.Errorf("of %q and the target %q: %v with the code %v and an open circuit: %t; want %s, %v and %t",
				test.err, test.where, err, status.Code(err), overflow, test.want, test.code, test.overflow)
		}
	}
}

// A call ends in the account in which it began, even if the cluster has changed meanwhile.
func TestCallsEndWhereTheyBegan(t *testing.T) {
	for name, child := range map[string]*fixed{"alone": {}, "below another": {result: balancer.PickResult{Done: func(balancer.DoneInfo) {}}}} {
		p, sc := newClusterPicker(child, "")
		r, err := p.Pick(balancer.PickInfo{Ctx: t.Context()})
		if err != nil {
			t.Fatal(err)
		}
		next := &account{breaker: new(breaker.Set).Acquire("c", "other")}
		sc.account.Store(next.open())
		r.Done(balancer.DoneInfo{})
		if !p.breaker.Start(1) {
			t.Errorf("%s: the call still counts where it began", name)
		}
		p.breaker.End()

		// An old picker uses the endpoint's current account.
		if r, err = p.Pick(balancer.PickInfo{Ctx: t.Context()}); err != nil {
			t.Fatal(err)
		}
		if !p.breaker.Start(1) || next.breaker.Start(1) {
			t.Errorf("%s: the call is not counted where it ends", name)
		}
		r.Done(balancer.DoneInfo{})
		if !next.breaker.Start(1) {
			t.Errorf("%s: the call does not end", name)
		}
	}
}

// The picker drops no calls before the endpoints are ready, because it runs often for a call that
// waits.
func TestDropsWait(t *testing.T) {
	p, _ := newClusterPicker(&fixed{err: balancer.ErrNoSubConnAvailable}, "")
	p.drops = []endpoint.Drop{{Category: "all", PerMillion: million}}
	p.child.ConnectivityState = connectivity.Connecting
	if _, err := p.Pick(balancer.PickInfo{Ctx: t.Context()}); !errors.Is(err, balancer.ErrNoSubConnAvailable) {
		t.Errorf("Pick = %v; must wait", err)
	}
	p.child.ConnectivityState = connectivity.Ready
	if _, err := p.Pick(balancer.PickInfo{Ctx: t.Context()}); status.Code(err) != codes.Unavailable {
		t.Errorf("Pick = %v; must drop", err)
	}
}

func BenchmarkClusterPick(b *testing.B) {
	p, _ := newClusterPicker(new(fixed), "")
	info := balancer.PickInfo{Ctx: lbtree.WithCall(b.Context(), new(lbtree.Call))}
	b.ReportAllocs()
	for b.Loop() {
		r, _ := p.Pick(info)
		r.Done(balancer.DoneInfo{})
	}
}

// seenAttempts counts the calls of Picking.
type seenAttempts int

func (s *seenAttempts) Picking() { *s++ }

// The picker of a channel notifies the attempts of a call, whatever happens to it.
func TestPickersSeeAttempts(t *testing.T) {
	for _, cluster := range []string{"", "below a plugin"} {
		seen := new(seenAttempts)
		p := &routePicker{cluster: cluster}
		if _, err := p.Pick(balancer.PickInfo{Ctx: lbtree.WithCall(t.Context(), &lbtree.Call{Cluster: "c", Attempts: seen})}); err == nil || *seen != 1 {
			t.Errorf("cluster %q: %v, and the attempts were notified %d times; want an error, and once", cluster, err, *seen)
		}
	}
}
