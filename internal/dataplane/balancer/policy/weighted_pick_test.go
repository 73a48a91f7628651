package policy

import (
	"errors"
	"sync/atomic"
	"testing"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/balancer"
)

// A fixed is a picker with one result.
type fixed struct {
	result balancer.PickResult
	err    error
}

func (p fixed) Pick(balancer.PickInfo) (balancer.PickResult, error) { return p.result, p.err }

// TestReportsOfCalls expects the load report of a call to set the weight, unless reports come apart from calls. The picker of
// the endpoint learns the end of the call, too.
func TestReportsOfCalls(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		why    string
		inner  bool // the picker of the endpoint wants the end of the call
		err    error
		oob    bool
		weighs bool
	}{
		{why: "a call", weighs: true},
		{why: "a call with another observer", inner: true, weighs: true},
		{why: "reports apart from calls", inner: true, oob: true},
		{why: "reports apart from calls, without an observer", oob: true},
		{why: "a call that is refused", err: refused},
	} {
		ended := 0
		var result balancer.PickResult
		if tt.inner {
			result.Done = func(balancer.DoneInfo) { ended++ }
		}
		load := newEndpointLoad(new(weightedConfig))
		p := &weightedPicker{endpoints: []weightedEndpoint{{fixed{result, tt.err}, load}}, next: new(atomic.Uint64), oob: tt.oob}
		s, _ := newSchedule([]float64{1}, []float64{1})
		p.schedule.Store(s)
		r, err := p.Pick(balancer.PickInfo{})
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: the pick has the error %v, want %v", tt.why, err, tt.err)
		}
		if r.Done != nil {
			r.Done(balancer.DoneInfo{ServerLoad: &orcav3.OrcaLoadReport{CpuUtilization: 0.5, RpsFractional: 10}})
		}
		if weighs := load.weight == 20; weighs != tt.weighs || (ended == 1) != tt.inner {
			t.Errorf("%s: the weight is %v, and the end is reported %d times; want the weight of the report: %t, and the end: %t", tt.why, load.weight, ended, tt.weighs, tt.inner)
		}
	}
}
