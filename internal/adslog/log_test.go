package adslog_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/adslog"
)

const url = "type.googleapis.com/test.Thing"

// name reads a body like "a=1".
func name(body []byte) (string, error) {
	n, _, ok := strings.Cut(string(body), "=")
	if !ok {
		return "", errors.New("no name")
	}
	return n, nil
}

func request(nonce string, names ...string) *discoveryv3.DiscoveryRequest {
	return &discoveryv3.DiscoveryRequest{TypeUrl: url, ResponseNonce: nonce, ResourceNames: names}
}

func response(nonce string, bodies ...string) *discoveryv3.DiscoveryResponse {
	r := &discoveryv3.DiscoveryResponse{TypeUrl: url, Nonce: nonce}
	for _, b := range bodies {
		r.Resources = append(r.Resources, &anypb.Any{TypeUrl: url, Value: []byte(b)})
	}
	return r
}

func wrapped(t *testing.T, nonce, resource, body string) *discoveryv3.DiscoveryResponse {
	t.Helper()
	a, err := anypb.New(&discoveryv3.Resource{Name: resource, Resource: &anypb.Any{TypeUrl: url, Value: []byte(body)}})
	if err != nil {
		t.Fatal(err)
	}
	return &discoveryv3.DiscoveryResponse{TypeUrl: url, Nonce: nonce, Resources: []*anypb.Any{a}}
}

func subscribe(nonce string, names ...string) *discoveryv3.DeltaDiscoveryRequest {
	return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: url, ResponseNonce: nonce, ResourceNamesSubscribe: names}
}

func delta(nonce string, removed []string, bodies ...string) *discoveryv3.DeltaDiscoveryResponse {
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: url, Nonce: nonce, RemovedResources: removed}
	for _, b := range bodies {
		n, _ := name([]byte(b))
		r.Resources = append(r.Resources, &discoveryv3.Resource{Name: n, Resource: &anypb.Any{TypeUrl: url, Value: []byte(b)}})
	}
	return r
}

// play notes messages of one stream of a new log.
func play(kind adslog.Kind, messages ...proto.Message) *adslog.Log {
	l := new(adslog.Log)
	l.Describe(url, kind)
	s := l.Open()
	for _, m := range messages {
		switch m.(type) {
		case *discoveryv3.DiscoveryRequest, *discoveryv3.DeltaDiscoveryRequest:
			s.Request(m)
		default:
			s.Response(m)
		}
	}
	return l
}

// TestAccepted expects a reason as long as a client lacks something.
func TestAccepted(t *testing.T) {
	named, complete := adslog.Kind{Name: name}, adslog.Kind{Name: name, Complete: true}
	nack := request("1", "a")
	nack.ErrorDetail = &rpcstatus.Status{Message: "bad b"}
	newest := map[string]string{"a": "a=2", "b": "b=1"}
	for title, c := range map[string]struct {
		want     string // part of the reason; "": accepted
		kind     adslog.Kind
		messages []proto.Message
	}{
		"no subscription":                {"none of 1 open streams", named, nil},
		"nothing received":               {`newest "a"; 0 responses`, named, []proto.Message{request("", "a")}},
		"no ACK":                         {`newest "a"; 1 responses`, named, []proto.Message{request("", "a"), response("1", "a=2")}},
		"ACK":                            {"", named, []proto.Message{request("", "a"), response("1", "a=2"), request("1", "a")}},
		"ACK of an old version":          {`newest "a"`, named, []proto.Message{request("", "a"), response("1", "a=1"), request("1", "a")}},
		"NACK":                           {"rejected the last response: bad b", named, []proto.Message{request("", "a"), response("1", "a=2"), nack}},
		"NACK, then ACK":                 {"", named, []proto.Message{request("", "a"), response("1", "a=1"), nack, response("2", "a=2"), request("2", "a")}},
		"another stale nonce":            {`newest "a"`, named, []proto.Message{request("", "a"), response("1", "a=2"), request("0", "a")}},
		"ACK of the later one":           {"", named, []proto.Message{request("", "a", "b"), response("1", "a=2"), response("2", "b=1"), request("2", "a", "b")}},
		"a later response":               {"has 1 unanswered", named, []proto.Message{request("", "a"), response("1", "a=2"), request("1", "a"), response("2")}},
		"unnamed":                        {"", adslog.Kind{}, []proto.Message{request("", "a"), response("1", "a=2"), request("1", "a")}},
		"wrapped":                        {"", adslog.Kind{Complete: true}, []proto.Message{request("", "a"), wrapped(t, "1", "a", "a=2"), request("1", "a")}},
		"wildcard":                       {`newest "b"`, named, []proto.Message{request(""), response("1", "a=2"), request("1")}},
		"complete: gone":                 {"", complete, []proto.Message{request("", "a", "c"), response("1", "a=2", "c=1"), request("1", "a", "c"), response("2", "a=2"), request("2", "a", "c")}},
		"complete: not gone":             {`removal of "c"`, complete, []proto.Message{request("", "a", "c"), response("1", "a=2", "c=1"), request("1", "a", "c")}},
		"complete: not wanted any more":  {"", complete, []proto.Message{request("", "a", "c"), response("1", "a=2", "c=1"), request("1", "a")}},
		"complete: gone, then the same":  {`newest "a"`, complete, []proto.Message{request("", "a"), response("1", "a=2"), request("1", "a"), response("2"), request("2", "a")}},
		"delta: ACK":                     {"", named, []proto.Message{subscribe("", "a"), delta("1", nil, "a=2"), subscribe("1")}},
		"delta: no ACK of the first":     {`newest "a"`, named, []proto.Message{subscribe("", "a"), delta("1", nil, "a=2"), delta("2", nil), subscribe("2")}},
		"delta: not gone":                {`removal of "c"`, named, []proto.Message{subscribe("", "c"), delta("1", nil, "c=1"), subscribe("1")}},
		"delta: gone":                    {"", named, []proto.Message{subscribe("", "c"), delta("1", nil, "c=1"), subscribe("1"), delta("2", []string{"c"}), subscribe("2")}},
		"delta: wildcard":                {`newest "b"`, named, []proto.Message{subscribe(""), delta("1", nil, "a=2"), subscribe("1")}},
		"delta: the wildcard is dropped": {"none of 1", named, []proto.Message{subscribe(""), &discoveryv3.DeltaDiscoveryRequest{TypeUrl: url, ResourceNamesUnsubscribe: []string{"*"}}}},
	} {
		ok, why := play(c.kind, c.messages...).Accepted(url, newest)
		if ok != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: %t, %q; want %q", title, ok, why, c.want)
		}
	}
}

// TestEveryStreamCounts expects one stream that lacks something to be found among others.
func TestEveryStreamCounts(t *testing.T) {
	l := play(adslog.Kind{Name: name}, request("", "a"), response("1", "a=2"), request("1", "a"))
	second := l.Open()
	if ok, why := l.Accepted(url, map[string]string{"a": "a=2"}); !ok {
		t.Errorf("a stream without subscriptions counts: %s", why)
	}
	second.Request(request("", "a"))
	if ok, why := l.Accepted(url, map[string]string{"a": "a=2"}); ok || !strings.Contains(why, "stream 2") {
		t.Errorf("Accepted = %t, %q; want that stream 2 lacks something", ok, why)
	}
	second.Close()
	second.Close()
	if ok, why := l.Accepted(url, map[string]string{"a": "a=2"}); !ok || l.Streams() != 1 {
		t.Errorf("after Close: %q, %d streams", why, l.Streams())
	}
}

// TestSubscribed expects the names of all streams, and globs and wildcards to mean their members.
func TestSubscribed(t *testing.T) {
	const glob = "xdstp://a/test.Thing/x/*"
	l := play(adslog.Kind{}, request("", "b", "a"))
	s := l.Open()
	s.Request(subscribe("", "b", glob))
	if got := l.Subscribed(url); !slices.Equal(got, []string{"a", "b", glob}) {
		t.Errorf("Subscribed = %q", got)
	}
	for member, want := range map[string]bool{"xdstp://a/test.Thing/x/y": true, "xdstp://a/test.Thing/y": false, "b": true, "a": false, "": false} {
		if ok, _ := play(adslog.Kind{}, subscribe("", "b", glob)).Accepted(url, map[string]string{member: "body"}); ok == want {
			t.Errorf("a stream that lacks %q has accepted everything: %t; want %t", member, ok, !want)
		}
	}
	all := play(adslog.Kind{}, request("")).Subscribed(url)
	if !slices.Equal(all, []string{"*"}) {
		t.Errorf("Subscribed = %q; want the wildcard of a request without names", all)
	}
	none := play(adslog.Kind{}, request("", "a"), request("")).Subscribed(url)
	if len(none) != 0 {
		t.Errorf("Subscribed = %q after the last name is dropped", none)
	}
}

// TestAwait expects calls to look again at each change, and to end with their context.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := play(adslog.Kind{}, request("", "a"), response("1", "a=1"))
		s := l.Open()
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		wait := func() {
			ended <- l.Await(ctx, func() bool { return slices.Contains(l.Rejections(url), "bad") })
		}
		nack := func(message string) {
			r := request("1", "a")
			r.ErrorDetail = &rpcstatus.Status{Message: message}
			s.Request(r)
		}
		go wait()
		nack("other")
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("Await = %v before the change", err)
		default:
		}
		nack("bad")
		if err := <-ended; err != nil {
			t.Errorf("Await = %v", err)
		}
		if got := l.Rejections(url); !slices.Equal(got, []string{"other", "bad"}) {
			t.Errorf("Rejections = %q", got)
		}
		why := errors.New("enough")
		cancel(why)
		if err := l.Await(ctx, func() bool { return false }); !errors.Is(err, why) {
			t.Errorf("Await = %v; want the cause of the context's end", err)
		}
	})
}
