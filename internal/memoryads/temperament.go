package memoryads

import "fmt"

// A Temperament is the way in which a kind of control plane answers where the
// specification leaves it a choice, or where it departs from the specification.
type Temperament int

const (
	// Letter answers as the specification says.
	Letter Temperament = iota
	// Istiod drops a request that carries an error detail or the nonce of an older
	// response, with the names in it. It answers a request only if the names in it
	// are new.
	Istiod
	// Snapshot is go-control-plane's server with a snapshot cache. In the state of
	// the world it answers every request with another version than its own at once,
	// so it repeats rejected content. It never says that a name does not exist.
	Snapshot
	// Linear is go-control-plane's server with linear caches. It remembers the
	// versions that it sent, also those of the members of a wildcard that has ended,
	// and does not send them again.
	Linear
	// Mux is go-control-plane's server with a snapshot cache for complete types and
	// linear caches for the others.
	Mux
	// Diderot ignores nonces and the versions that a client says it has, and sends an
	// empty version where it has nothing. In the state of the world it keeps sending
	// complete types with the names that the client has dropped.
	Diderot
	// observed does not answer: a Checker passes the responses of another server on.
	observed
)

// Temperaments are all temperaments.
func Temperaments() []Temperament {
	return []Temperament{Letter, Istiod, Snapshot, Linear, Mux, Diderot}
}

func (t Temperament) String() string {
	switch t {
	case Letter:
		return "letter"
	case Istiod:
		return "istiod"
	case Snapshot:
		return "snapshot"
	case Linear:
		return "linear"
	case Mux:
		return "mux"
	case Diderot:
		return "diderot"
	case observed:
		return "observed"
	}
	return fmt.Sprintf("Temperament(%d)", int(t))
}

// Imitate sets the temperament of streams that are opened from now on.
func (s *Server) Imitate(t Temperament) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.temperament = t
}

// A sotwManner is how a server treats one type on a state-of-the-world stream. The
// requests have been checked. The stream records the resources that it sends.
type sotwManner interface {
	request(r sotwRequest)
	// change says that resources were set or deleted.
	change(names []string)
	// names are those that the server has as subscribed to.
	names() map[string]bool
}

// A sotwState is the common part of the manners.
type sotwState struct {
	p          *sotw
	h          *holdings
	t          *sotwType
	subscribed map[string]bool // names, aliases and globs; "*" for everything
}

func (s *sotwState) names() map[string]bool { return s.subscribed }

// A deltaManner is how a server treats one type on a delta stream.
type deltaManner interface {
	request(r deltaRequest, first bool)
	change(names []string)
	names() map[string]bool
}

// A deltaState is the common part of the manners.
type deltaState struct {
	p          *delta
	h          *holdings
	t          *deltaType
	subscribed map[string]bool // names, aliases and globs; "*" for everything
}

func (s *deltaState) names() map[string]bool { return s.subscribed }

func newSotwManner(p *sotw, h *holdings, t *sotwType) sotwManner {
	s := sotwState{p: p, h: h, t: t}
	switch who := p.stream.temperament; who {
	case Letter:
	case Istiod:
		return &istiodSotw{sotwState: s}
	case Snapshot, Linear, Mux:
		return &cacheSotw{sotwState: s, linear: linear(who, h), legacy: true, returned: make(map[string]string)}
	case observed:
		return &observedSotw{letterSotw{sotwState: s}}
	case Diderot:
		return &diderotSotw{sotwState: s, sent: make(map[string]*Resource)}
	}
	return &letterSotw{sotwState: s}
}

func newDeltaManner(p *delta, h *holdings, t *deltaType) deltaManner {
	s := deltaState{p: p, h: h, t: t, subscribed: make(map[string]bool)}
	switch who := p.stream.temperament; who {
	case Letter:
	case Istiod:
		return &istiodDelta{deltaState: s}
	case Snapshot, Linear, Mux:
		return &cacheDelta{deltaState: s, linear: linear(who, h), legacy: true, returned: make(map[string]string)}
	case observed:
		return &observedDelta{letterDelta{deltaState: s}}
	case Diderot:
		return &diderotDelta{deltaState: s}
	}
	return &letterDelta{deltaState: s}
}

// linear reports whether go-control-plane's server has the type in a linear cache.
func linear(who Temperament, h *holdings) bool { return who == Linear || who == Mux && !h.Complete }
