package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/internal/adslog"
)

// A stream is an ADS stream that is followed. It adds resource errors (xRFC TP3), which
// go-control-plane does not have: to the server's responses, and in responses of its own. Their
// nonces begin with ownNonce; the server never sees them.
type stream struct {
	grpc.ServerStream
	follow *following
	log    *adslog.Stream
	once   sync.Once
	cut    chan struct{} // closed when the stream has to end with err
	err    error

	mu    sync.Mutex // held while a message is sent
	types map[string]*streamType
	queue []proto.Message // held back
	ended bool
}

const ownNonce = "xdstest-"

// A streamType is the state of a type on a stream.
type streamType struct {
	delta   bool
	nonce   string // of the server's last response
	version string // likewise
	own     int    // responses that the stream made itself
	told    map[string]*rpcstatus.Status
}

// RecvMsg implements [grpc.ServerStream].
func (st *stream) RecvMsg(m any) error {
	if err := st.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	switch r := m.(type) {
	case *discoveryv3.DiscoveryRequest:
		st.log.Request(r)
		st.restore(r)
		if r.GetVersionInfo() != "" { // otherwise, the server responds anyway
			st.tell(r.GetTypeUrl(), nil)
		}
	case *discoveryv3.DeltaDiscoveryRequest:
		st.log.Request(r)
		t := st.of(r.GetTypeUrl())
		t.delta = true
		for _, n := range r.GetResourceNamesUnsubscribe() {
			delete(t.told, n)
		}
		st.mu.Unlock()
		st.tell(r.GetTypeUrl(), nil)
	}
	return nil
}

// of returns the state of a type, with the mutex held.
func (st *stream) of(url string) *streamType {
	st.mu.Lock()
	t, ok := st.types[url]
	if !ok {
		t = &streamType{told: make(map[string]*rpcstatus.Status), version: "0"}
		st.types[url] = t
	}
	return t
}

// restore gives a request the nonce that the server expects, and forgets the errors of names that
// the client dropped.
func (st *stream) restore(r *discoveryv3.DiscoveryRequest) {
	t := st.of(r.GetTypeUrl())
	defer st.mu.Unlock()
	if strings.HasPrefix(r.GetResponseNonce(), ownNonce) {
		r.ResponseNonce = t.nonce
	}
	maps.DeleteFunc(t.told, func(name string, _ *rpcstatus.Status) bool { return !st.log.Subscribed(r.GetTypeUrl(), name) })
}

// SendMsg implements [grpc.ServerStream].
func (st *stream) SendMsg(m any) error {
	switch r := m.(type) {
	case *discoveryv3.DiscoveryResponse:
		t := st.of(r.GetTypeUrl())
		defer st.mu.Unlock()
		t.nonce, t.version = r.GetNonce(), r.GetVersionInfo()
		r = proto.CloneOf(r) // the cache may send it on other streams
		r.ResourceErrors = st.problems(r.GetTypeUrl(), t, true)
		return st.send(r)
	case *discoveryv3.DeltaDiscoveryResponse:
		t := st.of(r.GetTypeUrl())
		defer st.mu.Unlock()
		t.version = r.GetSystemVersionInfo()
		r = proto.CloneOf(r)
		removed := len(r.GetRemovedResources())
		r.RemovedResources = slices.DeleteFunc(r.RemovedResources, func(n string) bool { return st.follow.problem(r.GetTypeUrl(), n) != nil })
		r.ResourceErrors = st.problems(r.GetTypeUrl(), t, false)
		if removed > 0 && len(r.GetRemovedResources())+len(r.GetResources())+len(r.GetResourceErrors()) == 0 {
			return nil // the client knows the errors of all of them
		}
		return st.send(r)
	}
	return st.ServerStream.SendMsg(m)
}

// problems returns the errors of the names that the client subscribes to: all of them, or those
// that it was not told yet. The mutex is held.
func (st *stream) problems(url string, t *streamType, all bool) []*discoveryv3.ResourceError {
	f := st.follow
	f.mu.Lock()
	problems := maps.Clone(f.errors[url])
	f.mu.Unlock()
	var out []*discoveryv3.ResourceError
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		p := problems[name]
		if !st.log.Subscribed(url, name) || !all && t.told[name] == p {
			continue
		}
		t.told[name] = p
		out = append(out, &discoveryv3.ResourceError{ResourceName: &discoveryv3.ResourceName{Name: name}, ErrorDetail: p})
	}
	return out
}

// tell sends the errors of a type that the client was not told yet, and that resources are gone
// that had errors.
func (st *stream) tell(url string, gone []string) {
	t := st.of(url)
	defer st.mu.Unlock()
	gone = slices.DeleteFunc(slices.Clone(gone), func(n string) bool { return !st.log.Subscribed(url, n) })
	problems := st.problems(url, t, false)
	complete := cachev3.ResourceRequiresFullStateInSotw(url)
	if len(problems) == 0 && (len(gone) == 0 || !t.delta && !complete) {
		return
	}
	t.own++
	nonce := fmt.Sprint(ownNonce, t.own)
	if t.delta {
		_ = st.send(&discoveryv3.DeltaDiscoveryResponse{
			TypeUrl: url, Nonce: nonce, SystemVersionInfo: t.version, RemovedResources: gone, ResourceErrors: problems,
		}) // an error ends the stream, which the server's handler notices
		return
	}
	r := &discoveryv3.DiscoveryResponse{TypeUrl: url, Nonce: nonce, VersionInfo: t.version, ResourceErrors: problems}
	if complete {
		r.Resources, r.ResourceErrors = st.resources(url), st.problems(url, t, true)
	}
	_ = st.send(r)
}

// resources returns the resources that the client subscribes to.
func (st *stream) resources(url string) []*anypb.Any {
	all := st.follow.server.caches[url].GetResources()
	var out []*anypb.Any
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !st.log.Subscribed(url, name) {
			continue
		}
		if body, err := cachev3.MarshalResource(all[name]); err == nil {
			out = append(out, &anypb.Any{TypeUrl: url, Value: body})
		}
	}
	return out
}

// send sends a response or, while responses are held back, queues it. The mutex is held.
func (st *stream) send(m proto.Message) error {
	st.follow.mu.Lock()
	holding := st.follow.holding
	st.follow.mu.Unlock()
	switch {
	case st.ended:
		return nil
	case holding || len(st.queue) > 0:
		st.queue = append(st.queue, m)
		return nil
	}
	st.log.Response(m)
	return st.ServerStream.SendMsg(m)
}

// flush sends the queue.
func (st *stream) flush() {
	st.mu.Lock()
	defer st.mu.Unlock()
	queue := st.queue
	st.queue = nil
	for _, m := range queue {
		_ = st.send(m)
	}
}

// end stops responses: the RPC is over.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
}
