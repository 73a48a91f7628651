package policy

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
)

// These are A58's defaults.
func TestWeightedDefaults(t *testing.T) {
	got, err := parseWeighted(`{}`)
	want := &weightedConfig{
		Report: lbpolicy.Period(10 * time.Second), Blackout: lbpolicy.Period(10 * time.Second),
		Expire: lbpolicy.Period(180 * time.Second), Update: lbpolicy.Period(time.Second), Penalty: 1,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the configuration is %+v, %v; want %+v", got, err, want)
	}
}

// A penalty of 0 ignores the errors in reports (A58).
func TestWeightedWithoutPenalty(t *testing.T) {
	if c, err := parseWeighted(`{"errorUtilizationPenalty":0}`); err != nil || c.Penalty != 0 {
		t.Errorf("the configuration is %+v, %v; want a penalty of 0", c, err)
	}
}

// A report of errors without utilization says nothing about the weight (A58).
func TestReportOfErrorsOnly(t *testing.T) {
	config, err := parseWeighted(`{"blackoutPeriod":"0s"}`)
	if err != nil {
		t.Fatal(err)
	}
	l := newEndpointLoad(config)
	l.OnLoadReport(&orcav3.OrcaLoadReport{RpsFractional: 100, Eps: 25})
	if w, u := l.current(time.Now(), config); w != 0 || u == usable {
		t.Errorf("the weight is %v, %v; want none", w, u)
	}
}

// An orcaConn is a subchannel whose streams of reports wait for their end.
type orcaConn struct {
	balancer.SubConn
	grpc.ClientConnInterface

	opened, open int
}

func (c *orcaConn) GetOrBuildProducer(b balancer.ProducerBuilder) (balancer.Producer, func()) {
	return b.Build(c)
}

func (c *orcaConn) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	c.opened++
	c.open++
	<-ctx.Done()
	c.open--
	return nil, ctx.Err()
}

// A change of the reports opens another stream, and other changes do not.
func TestReportsApartFromCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *endpointLoad
		c := new(orcaConn)
		for _, test := range []struct {
			config       string
			opened, open int
		}{
			{`{}`, 0, 0},
			{`{"enableOobLoadReport":true}`, 1, 1},
			{`{"enableOobLoadReport":true,"blackoutPeriod":"1s"}`, 1, 1},
			{`{"enableOobLoadReport":true,"oobReportingPeriod":"99s"}`, 2, 1},
			{`{"oobReportingPeriod":"99s"}`, 2, 0},
			{`{"enableOobLoadReport":true,"oobReportingPeriod":"99s"}`, 3, 1},
		} {
			config, err := parseWeighted(test.config)
			if err != nil {
				t.Fatal(err)
			}
			if l == nil {
				l = newEndpointLoad(config)
				l.connect(c)
			}
			l.configure(config)
			synctest.Wait()
			if c.opened != test.opened || c.open != test.open {
				t.Errorf("%s: %d streams were opened and %d are open, want %d and %d", test.config, c.opened, c.open, test.opened, test.open)
			}
		}
		l.disconnect()
		synctest.Wait()
		if c.open != 0 {
			t.Errorf("%d streams are open without the connection", c.open)
		}
	})
}
