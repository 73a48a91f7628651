package adsserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
)

// wantAccepted expects Accepted to be false with these words; true, if there are no words.
func wantAccepted(t *testing.T, c *Core, url, words string) {
	t.Helper()
	if ok, why := c.Accepted(url); ok != (words == "") || !strings.Contains(why, words) {
		t.Errorf("Accepted = %t, %q; want %q", ok, why, words)
	}
}

// A client has accepted the newest resources if it has received all, and has answered all responses
// without a NACK.
func TestAccepted(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, c := newCore(t, Config{})
				commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "c", "1")))
				n := newNaive(t, c, delta)
				wantAccepted(t, c, clusterURL, "none of 1 open streams")
				n.change(clusterURL, []string{"a", "c"}, nil)
				synctest.Wait()
				wantAccepted(t, c, clusterURL, `"a" "c"], has not received the newest resources`)
				n.next("bad c")
				wantAccepted(t, c, clusterURL, "rejected the last response: bad c")
				commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
				n.read()
				wantAccepted(t, c, clusterURL, "")
				commit(t, m, new(source.Tx).Delete(key(clusterURL, "c")))
				wantAccepted(t, c, clusterURL, "has not received")
				n.read()
				wantAccepted(t, c, clusterURL, "")
				commit(t, m, new(source.Tx).Put(put(clusterURL, "other", "1")))
				wantAccepted(t, c, clusterURL, "") // nobody subscribes to it
			})
		})
	}
}

// A response is accepted when it is answered, and not when it is sent.
func TestAcceptedNeedsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a"}, nil)
		synctest.Wait()
		r := n.readDelta(t)
		if len(r) != 1 {
			t.Fatalf("%d responses, want 1", len(r))
		}
		wantAccepted(t, c, clusterURL, "has not answered response 1")
		n.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r[0].GetNonce()})
		wantAccepted(t, c, clusterURL, "")
	})
}

// A rejection of the newest response has the names of its resources, and the version if there is one resource. A rejection
// of an older response has neither.
func TestRejectionsNameResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []source.Rejection
		m, c := newCore(t, Config{Rejected: func(_ any, r source.Rejection) { got = append(got, r) }})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "b", "1")))
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a", "b"}, nil)
		receive := func() *discoveryv3.DeltaDiscoveryResponse {
			t.Helper()
			synctest.Wait()
			list := n.readDelta(t)
			if len(list) != 1 {
				t.Fatalf("%d responses, want 1", len(list))
			}
			return list[0]
		}
		reject := func(r *discoveryv3.DeltaDiscoveryResponse, names []string, version string) {
			t.Helper()
			n.send(&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: clusterURL, ResponseNonce: r.GetNonce(), ErrorDetail: &rpcstatus.Status{Code: 3, Message: "bad"},
			})
			if len(got) != 1 || !slices.Equal(slices.Sorted(slices.Values(got[0].Names)), names) || got[0].Version != version || got[0].Text != "bad" {
				t.Errorf("the rejections are %+v; want one of %q with the version %q", got, names, version)
			}
			got = nil
		}
		first := receive()
		reject(first, []string{"a", "b"}, "")
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
		second := receive()
		reject(first, nil, "")
		reject(second, []string{"a"}, second.GetResources()[0].GetVersion())
	})
}

// One stream that lacks something is found among others.
func TestEveryStreamCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, glob+"1", "1")))
		first, second := newNaive(t, c, true), newNaive(t, c, true)
		first.change(clusterURL, []string{"a"}, nil)
		synctest.Wait()
		first.read()
		wantAccepted(t, c, clusterURL, "")
		second.change(clusterURL, []string{"a", glob + "*"}, nil)
		synctest.Wait()
		wantAccepted(t, c, clusterURL, "stream 2")
		if got, want := c.SubscribedTo(clusterURL), []string{"a", glob + "*"}; !slices.Equal(got, want) {
			t.Errorf("names %q, want %q", got, want)
		}
		second.read()
		wantAccepted(t, c, clusterURL, "")
		commit(t, m, new(source.Tx).Put(put(clusterURL, glob+"1", "2")))
		wantAccepted(t, c, clusterURL, "stream 2")
		second.stream.Close(context.Canceled)
		wantAccepted(t, c, clusterURL, "")
	})
}

// An observer learns that a client has everything, also if no response tells it.
func TestChangedWithoutAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes atomic.Int64
		m, c := newCore(t, Config{Changed: func() { changes.Add(1) }})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a"}, nil)
		synctest.Wait()
		n.read()
		n.connect() // with the version that it has
		synctest.Wait()
		wantAccepted(t, c, clusterURL, "has not received")
		before := changes.Load()
		n.read()
		wantAccepted(t, c, clusterURL, "")
		if changes.Load() == before {
			t.Error("the observer is not called")
		}
	})
}
