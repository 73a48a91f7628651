package memoryads

import "slices"

// faults are the faults that are currently injected.
type faults struct {
	refuse       error            // not nil: streams cannot be opened
	failing      map[string]error // by method: the error that ends new streams
	silent       map[string]bool  // by method: nothing is answered
	deaf         bool             // requests are not read
	holding      bool             // responses are not sent
	omitRemovals bool             // delta: see OmitRemovals
}

// alter changes the faults and has blocked streams look again.
func (s *Server) alter(f func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.faults)
	s.wake()
}

// Refuse has attempts to open a stream fail with err; nil ends that.
func (s *Server) Refuse(err error) { s.alter(func(f *faults) { f.refuse = err }) }

// Disconnect ends all streams with err; nil ends them as a server does that has nothing
// more to say. Responses that wait are lost.
func (s *Server) Disconnect(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(func(*stream) bool { return true }, err)
}

// Fail ends each new stream of a method with err before its first message, as a server does that
// lacks the method. Nil ends the fault.
func (s *Server) Fail(method string, err error) {
	s.alter(func(f *faults) { f.failing[method] = err })
}

// Silence makes the server read the requests of a method without answering them. These
// requests stay unanswered after Silence ends.
func (s *Server) Silence(method string, on bool) {
	s.alter(func(f *faults) { f.silent[method] = on })
}

// StopReading keeps requests from being read: sending blocks.
func (s *Server) StopReading() { s.alter(func(f *faults) { f.deaf = true }) }

// ResumeReading ends StopReading.
func (s *Server) ResumeReading() { s.alter(func(f *faults) { f.deaf = false }) }

// Hold keeps responses back: receiving blocks.
func (s *Server) Hold() { s.alter(func(f *faults) { f.holding = true }) }

// Release ends Hold; the responses that were held back are sent in their order.
func (s *Server) Release() { s.alter(func(f *faults) { f.holding = false }) }

// OmitRemovals has the server do as some do in the delta protocol: a removal is
// told only on the streams that saw the resource. One that vanished between two
// streams, or never was, is passed over in silence.
func (s *Server) OmitRemovals(on bool) { s.alter(func(f *faults) { f.omitRemovals = on }) }

// Inject sends bytes as they are on all streams, whatever the protocol makes of them.
func (s *Server) Inject(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		st.out = append(st.out, response{slices.Clone(raw), func() {}})
	}
	s.wake()
}
