package fallback

// None is the position of no server.
const None = -1

// A Machine is the choice of one authority. It is not safe for concurrent use.
type Machine struct {
	servers []server
	active  int
}

type server struct {
	used   bool
	failed bool // it could not be reached, and has not been since
}

// A Decision is what a machine answers.
type Decision struct {
	// Use and Drop are servers to begin and to stop using. A server is used by
	// subscribing to everything that is watched.
	Use, Drop []int
}

// New returns a machine for a list of n servers, none of which is in use.
func New(n int) *Machine { return &Machine{servers: make([]server, n), active: None} }

// Active is the server whose resources count, or None.
func (m *Machine) Active() int { return m.active }

// Used reports whether a server is in use: the active one, and those before it.
func (m *Machine) Used(i int) bool { return m.servers[i].used }

// Exhausted reports whether no server is left to try: the active one cannot be
// reached, and whoever needs more than the cache has is to be told.
func (m *Machine) Exhausted() bool {
	return m.active != None && m.servers[m.active].failed
}

// Wanted says that something is watched, and whether anything of it is not
// cached.
func (m *Machine) Wanted(uncached bool) Decision {
	var d Decision
	if m.active == None {
		m.use(0, &d)
	}
	m.advance(uncached, &d)
	return d
}

// Unwanted says that nothing is watched any longer.
func (m *Machine) Unwanted() Decision {
	var d Decision
	m.dropAfter(None, &d)
	m.active = None
	return d
}

// Failed says that a server in use cannot be reached, and whether anything that
// is watched is not cached.
func (m *Machine) Failed(i int, uncached bool) Decision {
	var d Decision
	if !m.servers[i].used {
		return d
	}
	m.servers[i].failed = true
	m.advance(uncached, &d)
	return d
}

// Healthy says that a server can be reached, though it has not said anything.
func (m *Machine) Healthy(i int) { m.servers[i].failed = false }

// Responded says that a server has answered, and reports whether its word counts.
// With the first response of an earlier server, the later ones are dropped.
func (m *Machine) Responded(i int) (d Decision, counts bool) {
	if i > m.active {
		return d, false
	}
	m.servers[i].failed = false
	m.active = i
	m.dropAfter(i, &d)
	return d, true
}

// advance goes on to the next server while the active one has failed and more is
// needed than the cache has. The last one stays active however it fares.
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
