package environment

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/xdsforge/xdsforge/framework/load"
)

// The load that clients report to a control plane is exported, for clients with equal names as one series. It ends
// with the client.
func TestLoadMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMetricWorld(t)
		defer func() { _ = w.env.Close() }()
		var scopes []*Scope
		for range 2 {
			s, err := w.env.NewScope("web")
			if err != nil {
				t.Fatal(err)
			}
			scopes = append(scopes, s)
			store, err := s.LoadStore(w.env.Config().Servers()[0])
			if err != nil {
				t.Fatal(err)
			}
			count(store)
		}
		const cluster, labels = "{lb.backend_service=c,", "target=web,server=memory:1,"
		const east, west = `lb.locality={region="east", zone="", sub_zone=""},` + labels, `lb.locality={region="west", zone="1", sub_zone="a"},` + labels
		w.expect(0, "xdsforge.load.",
			"calls_dropped"+cluster+labels+"drop_category=,service=e} 2",
			"calls_dropped"+cluster+labels+"drop_category=lost,service=e} 4",
			"calls_finished"+cluster+east+"result=error,service=e} 2",
			"calls_finished"+cluster+east+"result=success,service=e} 4",
			"calls_finished"+cluster+west+"result=error,service=e} 0",
			"calls_finished"+cluster+west+"result=success,service=e} 0",
			"calls_in_progress"+cluster+east+"service=e} 2",
			"calls_in_progress"+cluster+west+"service=e} 2",
			"calls_started"+cluster+east+"service=e} 8",
			"calls_started"+cluster+west+"service=e} 2",
		)
		for _, s := range scopes {
			_ = s.Release()
		}
		w.expect(0, "xdsforge.load.")
	})
}

// count counts four calls in the east, one in the west, and three drops.
func count(s *load.Store) {
	c := s.Cluster("c", "e")
	c.Drop("lost")
	c.Drop("lost")
	c.Drop("")
	east := load.LocalityID{Region: "east"}
	l, propagated := c.Locality(east, load.Propagation{}), c.Locality(east, load.Propagation{CPU: true})
	for _, err := range []error{nil, errors.New("failed")} {
		l.CallStarted()
		l.CallFinished(err, nil)
	}
	propagated.CallStarted()
	propagated.CallFinished(nil, nil)
	l.CallStarted()
	c.Locality(load.LocalityID{Region: "west", Zone: "1", SubZone: "a"}, load.Propagation{}).CallStarted()
}
