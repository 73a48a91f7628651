package client_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"weak"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/fakeads"
)

// The reader recognises a response that repeats the previous one without decoding it.
func TestTheSameAgain(t *testing.T) {
	responses := make(chan []*anypb.Any, 1)
	answers := make(chan *discoveryv3.DiscoveryRequest, 1)
	s, err := fakeads.Start(func(stream fakeads.Stream) error {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		for version := 1; ; version++ {
			select {
			case resources := <-responses:
				v := strconv.Itoa(version)
				if err := stream.Send(&discoveryv3.DiscoveryResponse{VersionInfo: v, Nonce: v, TypeUrl: clusterURL, Resources: resources}); err != nil {
					return err
				}
			case <-stream.Context().Done():
				return nil
			}
			for {
				r, err := stream.Recv()
				if err != nil {
					return err
				}
				if r.GetResponseNonce() == strconv.Itoa(version) {
					answers <- r
					break
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c := newClient(t, oneServer(t, s.Addr(), "fail_on_data_errors"))
	ctx := testContext(t)
	a, b := follow(ctx, t, c, clusters, "a"), follow(ctx, t, c, clusters, "b")
	a1, b1 := anyOf(t, cluster("a", "1")), anyOf(t, cluster("b", "1"))
	send := func(wantReject string, resources ...*anypb.Any) {
		t.Helper()
		responses <- resources
		got := receive(ctx, t, "the answer", answers).GetErrorDetail().GetMessage()
		if wantReject == "" && got != "" || !strings.Contains(got, wantReject) {
			t.Errorf("error detail = %q, want %q in it", got, wantReject)
		}
	}
	send("", a1, b1)
	a.value("1")
	b.value("1")
	send("", b1, a1) // in another order: no watcher is notified
	send(`1 of 3 resources rejected: Cluster "a": it is listed twice`, a1, b1, a1)
	a.failed(resource.ErrInvalid)
	send("", a1, b1) // clears the error
	a.value("1")
	send(`1 of 3 resources rejected: Cluster "a": it is listed twice`, anyOf(t, cluster("a", "2")), a1, b1)
	a.failed(resource.ErrInvalid)
	send("", anyOf(t, cluster("a", "2")), b1)
	a.value("2")
	send("", anyOf(t, cluster("a", "2")))
	b.failed(resource.ErrRemoved)
	send("", anyOf(t, cluster("a", "2")), b1)
	b.value("1")
	send("", a1, b1) // the previous content
	a.value("1")
	send(`1 of 3 resources rejected: Cluster "a": it is listed twice`, a1, anyOf(t, cluster("a", "2")), b1) // of which both were there
	a.failed(resource.ErrInvalid)
}

// The name in a Resource wrapper has precedence over the name in the message. A later message
// without a wrapper has its own name.
func TestTheSameWithoutItsWrapper(t *testing.T) {
	send := make(chan *anypb.Any)
	s, err := fakeads.Start(func(stream fakeads.Stream) error {
		for asked := 0; asked < 2; {
			r, err := stream.Recv()
			if err != nil {
				return err
			}
			asked = len(r.GetResourceNames())
		}
		for {
			select {
			case a := <-send:
				if err := stream.Send(&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n", TypeUrl: clusterURL, Resources: []*anypb.Any{a}}); err != nil {
					return err
				}
			case <-stream.Context().Done():
				return nil
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	outer, inner := follow(ctx, t, c, clusters, "outer"), follow(ctx, t, c, clusters, "inner")
	body := anyOf(t, cluster("inner", "1"))
	send <- anyOf(t, &discoveryv3.Resource{Name: "outer", Resource: body})
	outer.value("1")
	send <- body
	inner.value("1")
	outer.ambient(resource.ErrRemoved)
}

// The reader cache does not keep a resource that is no longer watched.
func TestWhatIsCancelledIsLetGo(t *testing.T) {
	const n = 500
	s := startServer(t)
	for i := range n {
		set(t, s, strconv.Itoa(i), cluster(strconv.Itoa(i), "1"))
	}
	c := newClient(t, oneServer(t, s.Addr()))
	ctx := testContext(t)
	stays := follow(ctx, t, c, clusters, "0")
	stays.value("1")
	updates := make(chan weak.Pointer[update], n)
	var cancels []func()
	for i := 1; i < n; i++ {
		cancel, err := clusters.Handle().Subscribe(c, strconv.Itoa(i), func(ev resource.Event[resource.Update]) {
			if u, ok := ev.Update.(*update); ok && ev.Changed {
				updates <- weak.Make(u)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		cancels = append(cancels, cancel)
	}
	var known []weak.Pointer[update]
	for len(known) < n-1 {
		known = append(known, receive(ctx, t, "an update", updates))
	}
	for _, cancel := range cancels {
		cancel()
	}
	clear(cancels)
	set(t, s, "0", cluster("0", "2"))
	stays.value("2")
	alive := func() (n int) {
		runtime.GC()
		for _, u := range known {
			if u.Value() != nil {
				n++
			}
		}
		return n
	}
	for version := 3; alive() > 100; version++ {
		if ctx.Err() != nil || version > 30 {
			t.Fatalf("%d of %d updates are still there", alive(), n-1)
		}
		set(t, s, "0", cluster("0", strconv.Itoa(version)))
		stays.value(strconv.Itoa(version))
	}
}
