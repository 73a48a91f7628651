package client_test

import (
	"fmt"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// fill gives the control plane n clusters and n assignments of ten endpoints, and
// returns the bytes of their names.
func fill(t *testing.T, s *controlplane.Server, n int) (nameBytes int) {
	t.Helper()
	ports := make([]uint32, 10)
	for i := range ports {
		ports[i] = uint32(8000 + i)
	}
	all := make(map[string]proto.Message, 2*n)
	for i := range n {
		c, e := fmt.Sprintf("cluster-%06d", i), fmt.Sprintf("endpoints-%06d", i)
		all[c], all[e] = cluster(c, "1"), assignment(e, ports...)
		nameBytes += len(c) + len(e)
	}
	if err := s.Update(all); err != nil {
		t.Fatal(err)
	}
	return nameBytes
}

// watchAll subscribes to all resources of fill. The returned function waits until every watcher has
// its value.
func watchAll(t *testing.T, c resource.Source, n int) (wait func()) {
	t.Helper()
	var have sync.WaitGroup
	have.Add(2 * n)
	for i := range n {
		for typ, name := range map[*resource.Descriptor]string{clusters: "cluster", endpoints: "endpoints"} {
			once := sync.OnceFunc(have.Done)
			if _, err := c.Subscribe(typ, fmt.Sprintf("%s-%06d", name, i), delivered(recorder{changed: func(resource.Update) { once() }})); err != nil {
				t.Fatal(err)
			}
		}
	}
	return have.Wait
}

func waitOrFail(t *testing.T, wait func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	ctx := testContext(t)
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("timeout: not every watcher has its value")
	}
}

// A burst of 20,000 watches is a handful of requests.
func TestBurstBeforeTheServerAccepts(t *testing.T) {
	const n = 10000
	s := startServer(t)
	fill(t, s, n)
	release := s.Hold()
	c := newClient(t, oneServer(t, s.Addr()))
	wait := watchAll(t, c, n)
	release()
	waitOrFail(t, wait)
	asks := 0
	for _, r := range s.Requests() {
		if r.GetResponseNonce() == "" {
			asks++
		}
	}
	if asks > 4 {
		t.Errorf("%d requests beside the ACKs, want at most 4", asks)
	}
	if n := len(s.Rejections()); n != 0 {
		t.Errorf("%d rejections: %.200s", n, s.Rejections()[0])
	}
	t.Logf("%d watches: %d requests, %d of them ACKs", 2*n, len(s.Requests()), len(s.Requests())-asks)
}

// Without the hold, watches begin while the stream runs. The bytes of the requests
// stay in proportion to the names.
func TestBurstIntoARunningStream(t *testing.T) {
	bytesPerNameByte := func(n int) float64 {
		s := startServer(t)
		nameBytes := fill(t, s, n)
		c := newClient(t, oneServer(t, s.Addr()))
		follow(testContext(t), t, c, clusters, "cluster-000000").value("1")
		waitOrFail(t, watchAll(t, c, n))
		sent := 0
		for _, r := range s.Requests() {
			sent += proto.Size(&discoveryv3.DiscoveryRequest{ResourceNames: r.GetResourceNames()})
		}
		t.Logf("%d watches: %d requests, %d bytes of names for %d", 2*n, len(s.Requests()), sent, nameBytes)
		return float64(sent) / float64(nameBytes)
	}
	const most = 25 // each name is sent this often at the most; once per watch would be thousands
	for _, n := range []int{1000, 10000} {
		if got := bytesPerNameByte(n); got > most {
			t.Errorf("%d watches: each byte of a name was sent %.1f times, want at most %d", 2*n, got, most)
		}
	}
}
