package client_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/fakeads"
)

func anyOf(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// startFake answers the first request for as many names with the responses, and
// hands out the requests.
func startFake(t *testing.T, names int, responses ...*discoveryv3.DiscoveryResponse) (addr string, requests <-chan *discoveryv3.DiscoveryRequest) {
	t.Helper()
	ch := make(chan *discoveryv3.DiscoveryRequest, 100)
	s, err := fakeads.Start(func(stream fakeads.Stream) error {
		for answered := false; ; {
			req, err := stream.Recv()
			if err != nil {
				return err
			}
			ch <- req
			if answered || len(req.GetResourceNames()) < names {
				continue
			}
			answered = true
			for _, r := range responses {
				if err := stream.Send(r); err != nil {
					return err
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s.Addr(), ch
}

const clusterURL = "type.googleapis.com/" + clusterName

// A valid resource is used although others in its response are invalid. The NACK names the errors.
func TestBadResourcesInAResponse(t *testing.T) {
	garbage := []byte{0x0a, 0xff}
	wrapped := func(name string, inner *anypb.Any) *anypb.Any {
		return anyOf(t, &discoveryv3.Resource{Name: name, Resource: inner})
	}
	for _, b := range []struct {
		what   string
		bad    []*anypb.Any
		reason string
		kind   error // of the watch on "bad"; nil: it hears nothing
	}{
		{"unparseable", []*anypb.Any{{TypeUrl: clusterURL, Value: garbage}}, "Cluster number 2: not a " + clusterName, nil},
		{"unparseable in a wrapper", []*anypb.Any{wrapped("bad", &anypb.Any{TypeUrl: clusterURL, Value: garbage})}, `Cluster "bad": not a ` + clusterName, resource.ErrInvalid},
		{"of another type", []*anypb.Any{anyOf(t, assignment("bad"))}, "ClusterLoadAssignment", nil},
		{"of another type in a wrapper", []*anypb.Any{wrapped("bad", anyOf(t, assignment("bad")))}, `Cluster "bad": it is a "type.googleapis.com/` + endpointName, resource.ErrInvalid},
		{"without a name", []*anypb.Any{anyOf(t, cluster("", "x"))}, "Cluster number 2: it has no name", nil},
		{"an empty wrapper", []*anypb.Any{wrapped("", nil)}, "Cluster number 2: the wrapper holds no resource", nil},
		{"a wrapper around nothing", []*anypb.Any{wrapped("bad", nil)}, `Cluster "bad": the wrapper holds no resource`, resource.ErrInvalid},
		{"an Any without a type", []*anypb.Any{{}}, "Cluster number 2", nil},
		{"a malformed xdstp name", []*anypb.Any{anyOf(t, cluster("xdstp:/x", "x"))}, "xdstp:", nil},
		{"another type's xdstp name", []*anypb.Any{anyOf(t, cluster(xdstpName("", endpointName, "x"), "x"))}, endpointName, nil},
		{"listed twice", []*anypb.Any{anyOf(t, cluster("bad", "1")), anyOf(t, cluster("bad", "2"))}, `Cluster "bad": it is listed twice`, resource.ErrInvalid},
		{"a decoder that panics", []*anypb.Any{anyOf(t, cluster("bad", "panic"))}, `Cluster "bad": its decoder panicked: alt_stat_name`, resource.ErrInvalid},
		{"a decoder that returns nothing", []*anypb.Any{anyOf(t, cluster("bad", "nothing"))}, `Cluster "bad": its decoder returned no update of that name`, resource.ErrInvalid},
		{"a decoder that returns another", []*anypb.Any{anyOf(t, cluster("bad", "another"))}, `Cluster "bad": its decoder returned no update of that name`, resource.ErrInvalid},
		{"a peeker that panics", []*anypb.Any{anyOf(t, cluster("panic", ""))}, "Cluster number 2: not a " + clusterName + ": its decoder panicked: a name", nil},
		{"of a type with a long name", []*anypb.Any{wrapped("bad", &anypb.Any{TypeUrl: "x/" + strings.Repeat("y", 5<<20)})}, `Cluster "bad": it is a "x/yyy`, resource.ErrInvalid},
		{"with a long name", []*anypb.Any{wrapped(strings.Repeat("n", 5<<20), anyOf(t, cluster("bad", "")))}, "must not be longer than 8192 bytes", nil},
	} {
		t.Run(b.what, func(t *testing.T) {
			resources := append([]*anypb.Any{anyOf(t, cluster("good", "1"))}, b.bad...)
			resources = append(resources, anyOf(t, cluster("good too", "1")))
			addr, requests := startFake(t, 3, &discoveryv3.DiscoveryResponse{
				VersionInfo: "1", Nonce: "n", TypeUrl: clusterURL, Resources: resources,
			})
			c := newClient(t, oneServer(t, addr))
			ctx := testContext(t)
			bad := follow(ctx, t, c, clusters, "bad")
			good, too := follow(ctx, t, c, clusters, "good"), follow(ctx, t, c, clusters, "good too")
			good.value("1")
			too.value("1")
			if b.kind != nil {
				if msg := bad.failed(b.kind); len(msg) > 10<<10 {
					t.Errorf("the error has %d bytes", len(msg))
				}
			}
			receive(ctx, t, "the first request", requests)
			nack := receive(ctx, t, "the answer", requests)
			for nack.GetResponseNonce() == "" { // more names had been added
				nack = receive(ctx, t, "the answer", requests)
			}
			if m := nack.GetErrorDetail().GetMessage(); !strings.Contains(m, b.reason) {
				t.Errorf("error_detail = %q, want %q in it", m, b.reason)
			}
			if nack.GetVersionInfo() != "" {
				t.Errorf("version of the NACK = %q, want none: nothing was accepted", nack.GetVersionInfo())
			}
		})
	}
}

// An unreadable resource may be one that seems to be missing.
func TestUnreadableNameIsNoRemoval(t *testing.T) {
	a, b := anyOf(t, cluster("a", "1")), anyOf(t, cluster("b", "1"))
	unreadable := &anypb.Any{TypeUrl: clusterURL, Value: []byte{0x0a, 0xff}}
	responses := make(chan []*anypb.Any, 1)
	// A client ignores a response of a type that it has not asked for on the stream, so the server
	// sends nothing before the request for both clusters. Each response waits for the answer to the
	// last one.
	s, err := fakeads.Start(func(stream fakeads.Stream) error {
		receive := func(until func(*discoveryv3.DiscoveryRequest) bool) error {
			for {
				if r, err := stream.Recv(); err != nil || until(r) {
					return err
				}
			}
		}
		if err := receive(func(r *discoveryv3.DiscoveryRequest) bool { return len(r.GetResourceNames()) == 2 }); err != nil {
			return err
		}
		for version := 1; ; version++ {
			nonce := strconv.Itoa(version)
			select {
			case resources := <-responses:
				if err := stream.Send(&discoveryv3.DiscoveryResponse{
					VersionInfo: nonce, Nonce: nonce, TypeUrl: clusterURL, Resources: resources,
				}); err != nil {
					return err
				}
			case <-stream.Context().Done():
				return nil
			}
			if err := receive(func(r *discoveryv3.DiscoveryRequest) bool { return r.GetResponseNonce() == nonce }); err != nil {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c := newClient(t, oneServer(t, s.Addr(), "fail_on_data_errors"))
	ctx := testContext(t)
	one, two := follow(ctx, t, c, clusters, "a"), follow(ctx, t, c, clusters, "b")
	responses <- []*anypb.Any{a, b}
	one.value("1")
	two.value("1")
	responses <- []*anypb.Any{anyOf(t, cluster("b", "2")), unreadable}
	two.value("2")
	follow(ctx, t, c, clusters, "b").value("2") // the loop is done with the response
	if _, ok := lookup(c, clusters, "a"); !ok {
		t.Error("a cluster that the response did not name was dropped, beside one that it did not name either")
	}
	responses <- []*anypb.Any{b}
	one.failed(resource.ErrRemoved)
}

func TestResponsesNobodyAskedFor(t *testing.T) {
	addr, requests := startFake(t, 1,
		&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n1", TypeUrl: "type.googleapis.com/test.Unknown", Resources: []*anypb.Any{{TypeUrl: "type.googleapis.com/test.Unknown"}}},
		&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n2", TypeUrl: "type.googleapis.com/" + endpointName, Resources: []*anypb.Any{anyOf(t, assignment("stranger"))}},
		&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n3", TypeUrl: "", Resources: nil},
		&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n4", TypeUrl: clusterURL, Resources: []*anypb.Any{anyOf(t, cluster("a", "1")), anyOf(t, cluster("stranger", "1"))}},
	)
	c := newClient(t, oneServer(t, addr))
	ctx := testContext(t)
	follow(ctx, t, c, clusters, "a").value("1")
	receive(ctx, t, "the first request", requests)
	// Only the response that was asked for is answered.
	ack := receive(ctx, t, "the answer", requests)
	if ack.GetResponseNonce() != "n4" || ack.GetErrorDetail() != nil {
		t.Errorf("answer = %v, want the ACK of n4", ack)
	}
	if _, ok := lookup(c, clusters, "stranger"); ok {
		t.Error("a resource that nobody watches is cached")
	}
}

func TestStreamThatEndsBeforeAnyResponse(t *testing.T) {
	s, err := fakeads.Start(func(stream fakeads.Stream) error {
		_, err := stream.Recv()
		return err // nil: OK without a response
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c := newClient(t, oneServer(t, s.Addr()))
	if msg := follow(testContext(t), t, c, clusters, "a").failed(resource.ErrTransport); !strings.Contains(msg, "without any response") {
		t.Errorf("error = %s", msg)
	}
}

// The error of a watcher must not contain a control plane's status. Otherwise it would become that
// of a call (gRFC A54).
func TestStatusOfTheControlPlaneDoesNotLeak(t *testing.T) {
	s, err := fakeads.Start(func(fakeads.Stream) error {
		return errors.New("go away")
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c := newClient(t, oneServer(t, s.Addr()))
	_, err = get(testContext(t), c, clusters, "a")
	if _, is := status.FromError(err); is || !strings.Contains(err.Error(), "go away") {
		t.Errorf("error = %v, want the words without the status", err)
	}
}

func TestALongRejectionIsCutShort(t *testing.T) {
	resources := []*anypb.Any{anyOf(t, cluster("a", "wordy"))}
	for len(resources) < 1000 {
		resources = append(resources, &anypb.Any{TypeUrl: clusterURL, Value: []byte{0xff}})
	}
	addr, requests := startFake(t, 1, &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n", TypeUrl: clusterURL, Resources: resources})
	c := newClient(t, oneServer(t, addr))
	ctx := testContext(t)
	follow(ctx, t, c, clusters, "a")
	if _, err := c.Observe(clusters, "a"); err != nil {
		t.Fatal(err)
	}
	receive(ctx, t, "the first request", requests)
	m := receive(ctx, t, "the NACK", requests).GetErrorDetail().GetMessage()
	if len(m) > 9<<10 || !strings.HasPrefix(m, "1000 of 1000 resources rejected") || !strings.HasSuffix(m, "more") {
		t.Errorf("error_detail has %d bytes: %.80s…%s", len(m), m, m[max(0, len(m)-40):])
	}
}

// The control plane chooses the length of versions and nonces. They cost their length and no more.
func TestLongVersionAndNonce(t *testing.T) {
	long := strings.Repeat("v", 1<<20)
	addr, requests := startFake(t, 1, &discoveryv3.DiscoveryResponse{
		VersionInfo: long, Nonce: long, TypeUrl: clusterURL, Resources: []*anypb.Any{anyOf(t, cluster("a", "1"))},
	})
	c := newClient(t, oneServer(t, addr))
	ctx := testContext(t)
	follow(ctx, t, c, clusters, "a").value("1")
	receive(ctx, t, "the first request", requests)
	if ack := receive(ctx, t, "the answer", requests); ack.GetVersionInfo() != long || ack.GetResponseNonce() != long || ack.GetErrorDetail() != nil {
		t.Errorf("ack = %d bytes of version, %d of nonce, %v", len(ack.GetVersionInfo()), len(ack.GetResponseNonce()), ack.GetErrorDetail())
	}
}
