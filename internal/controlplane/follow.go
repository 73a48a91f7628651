package controlplane

import (
	"sync"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/adslog"
)

// following logs the streams of a server and changes their course.
type following struct {
	server *Server
	log    adslog.Log

	running sync.WaitGroup // handlers of streams, ended streams included

	mu      sync.Mutex
	streams map[*stream]struct{}
	refuse  error                                   // not nil: streams end with it
	holding bool                                    // responses wait
	errors  map[string]map[string]*rpcstatus.Status // by type URL and name
}

// Follow logs the streams that open from now on. SetError, HoldResponses and Disconnect need it.
// Call it once, before the first client connects.
func (s *Server) Follow(kinds map[string]adslog.Kind) *adslog.Log {
	f := &following{server: s, streams: make(map[*stream]struct{}), errors: make(map[string]map[string]*rpcstatus.Status)}
	for url, k := range kinds {
		f.log.Describe(url, k)
	}
	s.follow = f
	return &f.log
}

// serve runs the server's handler of a stream until either ends.
func (f *following) serve(srv any, ss grpc.ServerStream, handler grpc.StreamHandler) error {
	st := &stream{ServerStream: ss, follow: f, cut: make(chan struct{}), types: make(map[string]*streamType)}
	if err := f.add(st); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- handler(srv, st) // ends at the latest when serve has returned, because RecvMsg fails
		f.running.Done()
	}()
	var err error
	select {
	case err = <-ended:
	case <-st.cut:
		err = st.err
	}
	st.end()
	f.note(func() { delete(f.streams, st) })
	st.log.Close()
	return err
}

// add starts to follow a stream, unless streams are refused.
func (f *following) add(st *stream) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return f.refuse
	}
	st.log = f.log.Open()
	f.streams[st] = struct{}{}
	f.running.Add(1)
	return nil
}

func (f *following) note(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	f.log.Wake()
}

// each calls do for each open stream.
func (f *following) each(do func(*stream)) {
	f.mu.Lock()
	streams := make([]*stream, 0, len(f.streams))
	for st := range f.streams {
		streams = append(streams, st)
	}
	f.mu.Unlock()
	for _, st := range streams {
		do(st)
	}
}

// stopped waits until all handlers have returned. The server is stopped.
func (f *following) stopped() { f.running.Wait() }

// HoldResponses keeps responses back until release is called. They are then sent in their order.
func (s *Server) HoldResponses() (release func()) {
	f := s.follow
	f.note(func() { f.holding = true })
	return sync.OnceFunc(func() {
		f.note(func() { f.holding = false })
		f.each((*stream).flush)
	})
}

// Disconnect ends all streams with err and refuses new ones until Reconnect. An err that is no
// gRPC status becomes one with the code Unavailable.
func (s *Server) Disconnect(err error) {
	if _, ok := status.FromError(err); !ok {
		err = status.Error(codes.Unavailable, err.Error())
	}
	f := s.follow
	f.note(func() { f.refuse = err })
	f.each(func(st *stream) { st.once.Do(func() { st.err = err; close(st.cut) }) })
}

// Reconnect ends Disconnect.
func (s *Server) Reconnect() { s.follow.note(func() { s.follow.refuse = nil }) }

// SetError removes a resource of a type and gives clients an error in its place (xRFC TP3).
func (s *Server) SetError(message, name string, problem *rpcstatus.Status) error {
	f, url := s.follow, "type.googleapis.com/"+message
	f.note(func() {
		if f.errors[url] == nil {
			f.errors[url] = make(map[string]*rpcstatus.Status)
		}
		f.errors[url][name] = problem
	})
	if err := s.deleteResource(url, name); err != nil {
		return err
	}
	f.each(func(st *stream) { st.tell(url, nil) })
	return nil
}

// clear removes the error of a name, and tells the streams about it if there is no resource.
func (f *following) clear(url, name string, gone bool) {
	if f == nil {
		return
	}
	f.mu.Lock()
	_, had := f.errors[url][name]
	delete(f.errors[url], name)
	f.mu.Unlock()
	if had && gone {
		f.each(func(st *stream) { st.tell(url, []string{name}) })
	}
}

// problem returns the error of a name.
func (f *following) problem(url, name string) *rpcstatus.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errors[url][name]
}
