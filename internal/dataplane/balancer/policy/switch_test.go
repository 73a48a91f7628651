package policy

import (
	"errors"
	"math"
	"slices"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A puppet is a policy that reports the states that the test sets.
type puppet struct {
	name    string
	report  lbtree.Report
	targets []lbtree.Target
	woken   int
	closed  bool
}

func (p *puppet) Update(t lbtree.Target) { p.targets = append(p.targets, t) }
func (p *puppet) ExitIdle()              { p.woken++ }
func (p *puppet) Close()                 { p.closed = true }

// Describe sets the error that the test expects.
func (p *puppet) Describe(d *dataplane.Policy) { d.Err = p.name + " describes itself" }

func (p *puppet) state(s connectivity.State) {
	p.report(balancer.State{ConnectivityState: s, Picker: lbtree.Fail{Err: errors.New(p.name)}})
}

// A theatre builds puppets for policies of the names "one" and "two".
type theatre struct {
	puppets  []*puppet
	reported balancer.State
}

func (th *theatre) build(name string, _ *lbtree.Env, report lbtree.Report) lbtree.Policy {
	p := &puppet{name: name, report: report}
	th.puppets = append(th.puppets, p)
	return p
}

// child is a switch of puppets, for the localities of a policy.
func (th *theatre) child(env *lbtree.Env, report lbtree.Report) *Switch {
	s := New(env, report)
	s.build = th.build
	return s
}

// top reports to the theatre.
func (th *theatre) top(s balancer.State) { th.reported = s }

// expect checks the last reported state and the owner of its picker.
func (th *theatre) expect(t *testing.T, when string, s connectivity.State, from string) {
	t.Helper()
	var got string
	if f, ok := th.reported.Picker.(lbtree.Fail); ok {
		got = f.Err.Error()
	}
	if th.reported.ConnectivityState != s || got != from {
		t.Errorf("%s: reported %v of %q, want %v of %q", when, th.reported.ConnectivityState, got, s, from)
	}
}

// target returns a target with one endpoint.
func target(name, config string) lbtree.Target {
	return lbtree.Target{
		Policy: resource.LBConfig{Name: name, Config: config}, Localities: []lbtree.Locality{at("x", 1)},
	}
}

func at(region string, weight uint32) lbtree.Locality {
	return lbtree.Locality{ID: endpoint.LocalityID{Region: region}, Weight: weight, Endpoints: []*lbtree.Endpoint{
		{Endpoint: resolver.Endpoint{Addresses: []resolver.Address{{Addr: region}}}, Weight: 1},
	}}
}

const (
	idle       = connectivity.Idle
	connecting = connectivity.Connecting
	ready      = connectivity.Ready
	failure    = connectivity.TransientFailure
)

func TestSwitch(t *testing.T) {
	th := new(theatre)
	s := th.child(nil, th.top)
	s.Update(target("one", "1"))
	th.expect(t, "at first", connecting, "")
	s.Update(target("one", "2"))
	if n := len(th.puppets); n != 1 || len(th.puppets[0].targets) != 2 {
		t.Fatalf("a change of the configuration built %d policies", n)
	}
	first := th.puppets[0]
	first.state(ready)
	th.expect(t, "the first is ready", ready, "one")

	s.Update(target("two", ""))
	second := th.puppets[1]
	th.expect(t, "the second connects", ready, "one")
	second.state(connecting)
	th.expect(t, "it still does", ready, "one")
	first.state(connecting) // it is as unused as the second
	if !first.closed {
		t.Error("the first is not closed")
	}
	th.expect(t, "the first is lost", connecting, "two")
	second.state(ready)
	first.state(failure) // nobody listens
	th.expect(t, "the second is ready", ready, "two")

	s.Update(target("one", ""))
	s.Update(target("two", "")) // before the third has reported
	third, fourth := th.puppets[2], th.puppets[3]
	if !third.closed || second.closed {
		t.Error("the third is not needed; the second still is")
	}
	fourth.state(failure)
	th.expect(t, "the newest has failed, and is used", failure, "two")
	if !second.closed {
		t.Error("the second is not closed")
	}

	s.Update(lbtree.Target{Policy: resource.LBConfig{Name: "two"}, Localities: []lbtree.Locality{{}}})
	th.expect(t, "without endpoints", failure, ErrNoEndpoints.Error())
	if !fourth.closed {
		t.Error("the last policy is not closed, although no endpoints are left")
	}
	s.Update(target("two", ""))
	th.expect(t, "with endpoints again", connecting, "")
}

// TestSwitchExitsIdle expects ExitIdle to reach both the policy in use and its replacement.
func TestSwitchExitsIdle(t *testing.T) {
	th := new(theatre)
	s := th.child(nil, th.top)
	s.ExitIdle() // no policy yet
	s.Update(target("one", ""))
	s.ExitIdle()
	th.puppets[0].state(ready)
	s.Update(target("two", ""))
	s.ExitIdle()
	if one, two := th.puppets[0].woken, th.puppets[1].woken; one != 2 || two != 1 {
		t.Errorf("ExitIdle reached the policy in use %d times and its replacement %d times, want 2 and 1", one, two)
	}
}

// TestUnregisteredPolicy expects calls to fail with the name of a policy that gRPC does not have.
func TestUnregisteredPolicy(t *testing.T) {
	th := new(theatre)
	s := New(nil, th.top)
	s.Update(target("nobody_has_it", ""))
	th.expect(t, "the policy is not registered", failure, `LB policy "nobody_has_it" is not registered (A52)`)
	s.ExitIdle()
	s.Close()
}

func TestLocalities(t *testing.T) {
	th := new(theatre)
	p := newLocalities(nil, th.top)
	p.child = th.child
	update := func(localities ...lbtree.Locality) {
		p.Update(lbtree.Target{Policy: resource.LBConfig{Config: `{"childPolicy":[{"pick_first":{"x":1}}]}`}, Localities: localities})
	}
	update(at("x", 3), at("y", 1))
	th.expect(t, "at first", connecting, "")
	x, y := th.puppets[0], th.puppets[1]
	if got := x.targets[0].Policy; got.Name != "pick_first" || got.Config != `{"x":1}` {
		t.Errorf("a locality's policy is %v", got)
	}
	x.state(failure)
	th.expect(t, "y connects", connecting, "")
	y.state(idle)
	th.expect(t, "y is idle", idle, "pick_first")
	y.state(failure)
	if th.reported.ConnectivityState != failure {
		t.Errorf("both have failed: %v", th.reported.ConnectivityState)
	}
	x.state(connecting) // sticky
	if th.reported.ConnectivityState != failure {
		t.Errorf("one tries again: %v", th.reported.ConnectivityState)
	}
	x.state(ready)
	th.expect(t, "x is ready", ready, "pick_first")
	y.state(ready)
	if s, ok := th.reported.Picker.(*spread); !ok || !slices.Equal(s.ends, []uint64{3, 4}) {
		t.Errorf("both are ready: the picker is %v", th.reported.Picker)
	}
	update(at("y", 5), at("z", 1))
	th.expect(t, "x is gone, z is new", ready, "pick_first")
	if !x.closed || y.closed || len(th.puppets) != 3 {
		t.Error("want common children kept and removed ones closed")
	}
	p.Update(lbtree.Target{Policy: resource.LBConfig{Config: `{"childPolicy":[{"nobody_has_it":{}}]}`}})
	if f, ok := th.reported.Picker.(lbtree.Fail); !ok || !errors.Is(f.Err, errNoneKnown) {
		t.Errorf("with a child that is not known, the picker is %v", th.reported.Picker)
	}
	y.state(connecting)
	y.state(ready)
	if f, ok := th.reported.Picker.(lbtree.Fail); !ok || !errors.Is(f.Err, errNoneKnown) {
		t.Errorf("a locality of the configuration before is ready: the picker is %v", th.reported.Picker)
	}
	update(at("y", 5), at("z", 1))
	th.expect(t, "the child is known again", ready, "pick_first")
	p.Close()
	if !y.closed || !th.puppets[2].closed {
		t.Error("Close leaves policies open")
	}
}

// Each picker gets its share, within six standard deviations.
func TestSpread(t *testing.T) {
	var s spread
	counts := make([]int, 3)
	weights := []uint32{1, math.MaxUint32, 1 << 31}
	for i, w := range weights {
		s.add(w, counter{&counts[i]})
	}
	const n = 20000
	for range n {
		_, _ = s.picker().Pick(balancer.PickInfo{})
	}
	for i, w := range weights {
		p := float64(w) / (1 + math.MaxUint32 + 1<<31)
		if d := math.Abs(float64(counts[i]) - p*n); d > 6*math.Sqrt(n*p*(1-p))+1 {
			t.Errorf("picker %d got %d of %d, want %v", i, counts[i], n, p*n)
		}
	}
	for point, want := range map[uint64]int{0: 0, 1: 1, 1 + math.MaxUint32 - 1: 1, 1 + math.MaxUint32: 2} {
		if got := s.at(point); got != want {
			t.Errorf("at(%d) = %d, want %d", point, got, want)
		}
	}
}

type counter struct{ n *int }

func (c counter) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	*c.n++
	return balancer.PickResult{}, nil
}

func TestFirst(t *testing.T) {
	got, err := first([]byte(`[{"nobody_has_it":{}},{"round_robin":{"a":1}},{"pick_first":{}}]`))
	if err != nil || got.Name != "round_robin" || got.Config != `{"a":1}` {
		t.Errorf("first = %v, %v, want round_robin", got, err)
	}
	for _, text := range []string{`[]`, `{}`, `[{"nobody_has_it":{}}]`} {
		if got, err := first([]byte(text)); err == nil {
			t.Errorf("first(%s) = %v; must be an error", text, got)
		}
	}
	for _, name := range []string{
		"round_robin", "pick_first", "least_request_experimental", "weighted_round_robin", "random_subsetting_experimental",
		"ring_hash_experimental", "xds_wrr_locality_experimental",
	} {
		if !known(name) {
			t.Errorf("%s is not known, but internal/extensions/lbpolicy renders it", name)
		}
	}
}

func BenchmarkSpread(b *testing.B) {
	var s spread
	n := 0
	for range 10 {
		s.add(7, counter{&n})
	}
	p := s.picker()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Pick(balancer.PickInfo{})
	}
}
