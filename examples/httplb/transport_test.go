package main

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/xdstest"
)

// answers is a network on which the path of a request selects the answer.
type answers struct{}

// RoundTrip implements [http.RoundTripper].
func (answers) RoundTrip(r *http.Request) (*http.Response, error) {
	code := http.StatusOK
	switch r.URL.Path {
	case "/unreachable":
		return nil, errors.New("unreachable")
	case "/broken":
		code = http.StatusBadGateway
	case "/missing":
		code = http.StatusNotFound
	}
	return &http.Response{StatusCode: code, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(r.URL.Host + " " + r.Host))}, nil
}

// A setting is a transport with its control plane and network, on the clock of a bubble.
type setting struct {
	*testing.T
	control   *xdstest.ControlPlane
	client    *xdsforge.Client
	transport *Transport
	store     *load.Store
}

func set(t *testing.T, test func(s *setting)) {
	synctest.Test(t, func(t *testing.T) {
		s := &setting{T: t, control: xdstest.InMemory(t, listener.Type(), route.Type(), cluster.Type(), endpoint.Type())}
		s.client = s.control.Client(xdsforge.WithTypes(standard.Register))
		config := s.control.Bootstrap()
		var err error
		if s.store, err = s.client.LoadStore(config.Servers()[0]); err != nil {
			t.Fatal(err)
		}
		if s.transport, err = NewTransport(s.client, config, target, answers{}); err != nil {
			t.Fatal(err)
		}
		test(s)
		s.transport.Close()
	})
}

// publish makes the control plane send a changed service with one host.
func (s *setting) publish(change func(map[string]proto.Message)) {
	s.Helper()
	one := phase{weights: `clusters { name: "web" weight { value: 1 } }`, services: map[string]string{
		"web": `endpoints { locality { zone: "z" } load_balancing_weight { value: 1 } lb_endpoints { endpoint ${a} } }`,
	}}
	all, err := one.resources(map[string]string{"a": "10.0.0.1:80"})
	if err != nil {
		s.Fatal(err)
	}
	change(all)
	s.control.Set(slices.Collect(maps.Values(all))...)
	<-time.NewTimer(time.Second).C
	synctest.Wait()
}

func (s *setting) request(url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	return s.transport.RoundTrip(r)
}

// wantLoad compares the load reported so far.
func (s *setting) wantLoad(succeeded, failed, inProgress, dropped uint64) {
	s.Helper()
	delta := s.store.Delta(load.ClusterFilter{All: true}, time.Now())
	if len(delta.Stats) != 1 || len(delta.Stats[0].GetUpstreamLocalityStats()) != 1 {
		s.Fatalf("load %v; must be of one locality", delta.Stats)
	}
	c := delta.Stats[0]
	l := c.GetUpstreamLocalityStats()[0]
	got := [4]uint64{l.GetTotalSuccessfulRequests(), l.GetTotalErrorRequests(), l.GetTotalRequestsInProgress(), c.GetTotalDroppedRequests()}
	if want := [4]uint64{succeeded, failed, inProgress, dropped}; got != want {
		s.Errorf("succeeded, failed, in progress, dropped = %v; must be %v", got, want)
	}
	if c.GetClusterName() != "web" || c.GetClusterServiceName() != "web-endpoints" || l.GetLocality().GetZone() != "z" {
		s.Errorf("cluster %q, service %q, zone %q", c.GetClusterName(), c.GetClusterServiceName(), l.GetLocality().GetZone())
	}
}

func TestWhatBecomesOfARequestIsItsLoad(t *testing.T) {
	set(t, func(s *setting) {
		s.publish(func(map[string]proto.Message) {})
		resp, err := s.request("http://shop/")
		if err != nil {
			t.Fatal(err)
		}
		s.wantLoad(0, 0, 1, 0) // until the caller has read its body
		b, err := io.ReadAll(resp.Body)
		if err != nil || string(b) != "10.0.0.1:80 shop" {
			t.Errorf("response %q, %v; want the endpoint's, for the requested host", b, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		s.wantLoad(1, 0, 0, 0)
		for path, code := range map[string]int{"broken": http.StatusBadGateway, "missing": http.StatusNotFound} {
			resp, err := s.request("http://shop/" + path)
			if err != nil || resp.StatusCode != code {
				t.Fatal(resp, err)
			}
			_ = resp.Body.Close() // it is not read
		}
		s.wantLoad(2, 1, 0, 0) // a status for a missing page is not a failure of the endpoint
		if resp, err := s.request("http://shop/unreachable"); err == nil {
			t.Error(resp.Status)
		}
		s.wantLoad(2, 2, 0, 0)
	})
}

func TestErrorsOfRequests(t *testing.T) {
	set(t, func(s *setting) {
		fails := func(url, want string) {
			t.Helper()
			if _, err := s.request(url); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error = %v; must have %q", url, err, want)
			}
		}
		fails("http://shop/", "does not exist") // which the client notices after 15 s
		s.publish(func(all map[string]proto.Message) {
			all["web-endpoints"].(*endpointv3.ClusterLoadAssignment).Endpoints[0].LbEndpoints[0].HealthStatus = corev3.HealthStatus_DRAINING
		})
		fails("http://shop/", "no endpoint can be used")
		fails("http://another/", "no route")
		s.transport.Close()
		fails("http://shop/", "closed")
	})
}
