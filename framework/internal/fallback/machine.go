package fallback

// None is the position of no server.
const None = -1

// A Machine chooses the servers of one authority. It is not safe for concurrent use.
type Machine struct {
	servers []server
	active  int
}

type server struct {
	used   bool
	failed bool // unreachable at the last attempt
}

// A Decision is the machine's answer to an event.
type Decision struct {
	// Use and Drop are the servers to begin and to stop using. The client uses a server by
	// subscribing to everything that is watched.
	Use, Drop []int
}

// New returns a machine for a list of n servers, none of which is in use.
func New(n int) *Machine { return &Machine{servers: make([]server, n), active: None} }

// Active returns the server whose resources count, or None.
func (m *Machine) Active() int { return m.active }

// Used reports whether a server is in use: the active one, or one before it.
func (m *Machine) Used(i int) bool { return m.servers[i].used }

// Exhausted reports whether no server is left to try: the active one is unreachable. Watchers of
// uncached resources must then be told.
func (m *Machine) Exhausted() bool {
	return m.active != None && m.servers[m.active].failed
}

// Wanted reports that something is watched, and whether some of it is not cached.
func (m *Machine) Wanted(uncached bool) Decision {
	var d Decision
	if m.active == None {
		m.use(0, &d)
	}
	m.advance(uncached, &d)
	return d
}

// Unwanted reports that nothing is watched any longer.
func (m *Machine) Unwanted() Decision {
	var d Decision
	m.dropAfter(None, &d)
	m.active = None
	return d
}

// Failed reports that a server in use is unreachable, and whether some watched resource is not
// cached.
func (m *Machine) Failed(i int, uncached bool) Decision {
	var d Decision
	if !m.servers[i].used {
		return d
	}
	m.servers[i].failed = true
	m.advance(uncached, &d)
	return d
}

// Healthy reports that a server is reachable, though it has not responded.
func (m *Machine) Healthy(i int) { m.servers[i].failed = false }

// Responded reports that a server has responded. It returns whether its responses count. With the
// first response of an earlier server, the later ones are dropped.
func (m *Machine) Responded(i int) (d Decision, counts bool) {
	if i > m.active {
		return d, false
	}
	m.servers[i].failed = false
	m.active = i
	m.dropAfter(i, &d)
	return d, true
}

// advance switches to the next server while the active one has failed and some watched resource is
// not cached. The last server stays active even if it fails.
func (m *Machine) advance(uncached bool, d *Decision) {
	for uncached && m.servers[m.active].failed && m.active+1 < len(m.servers) {
		m.use(m.active+1, d)
	}
}

func (m *Machine) use(i int, d *Decision) {
	m.servers[i] = server{used: true}
	m.active = i
	d.Use = append(d.Use, i)
}

func (m *Machine) dropAfter(i int, d *Decision) {
	for j := i + 1; j < len(m.servers); j++ {
		if m.servers[j].used {
			m.servers[j] = server{}
			d.Drop = append(d.Drop, j)
		}
	}
}
