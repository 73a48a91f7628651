package authority

// noServer is the position of no server.
const noServer = -1

// A serverChoice decides which of an authority's servers is in use (gRFC A71). The authority uses the
// next server of its list when it cannot reach the current one and a watched resource is not cached.
// It returns to an earlier server with that server's first response. In between, it stays subscribed
// at the earlier servers. Later responses of a worse server are ignored.
type serverChoice struct {
	servers []serverUse
	active  int // the server whose resources are used, or noServer
	// eager is the number of servers, from the first on, that are used in place of an unreachable one
	// even if everything is cached (gRFC A95). 0 is the rule of A71.
	eager int
}

type serverUse struct {
	used   bool
	failed bool // unreachable at the last attempt
}

// A decision is the answer to an event.
type decision struct {
	// use and drop are the servers to begin and to stop using. The machine uses a server by
	// subscribing to everything that is watched.
	use, drop []int
}

// newServerChoice returns the choice from a list of n servers, none of which is in use.
func newServerChoice(n int) *serverChoice {
	return &serverChoice{servers: make([]serverUse, n), active: noServer}
}

// used reports whether a server is in use: the active one, or one before it.
func (c *serverChoice) used(i int) bool { return c.servers[i].used }

// exhausted reports whether no server is left to try: the active one is unreachable. Watchers of
// uncached resources must then be notified.
func (c *serverChoice) exhausted() bool {
	return c.active != noServer && c.servers[c.active].failed
}

// wanted reports that something is watched, and whether some of it is not cached.
func (c *serverChoice) wanted(uncached bool) decision {
	var d decision
	if c.active == noServer {
		c.use(0, &d)
	}
	c.advance(uncached, &d)
	return d
}

// unwanted reports that nothing is watched any longer.
func (c *serverChoice) unwanted() decision {
	var d decision
	c.dropAfter(noServer, &d)
	c.active = noServer
	return d
}

// failed reports that a server in use is unreachable, and whether some watched resource is not
// cached.
func (c *serverChoice) failed(i int, uncached bool) decision {
	var d decision
	if !c.servers[i].used {
		return d
	}
	c.servers[i].failed = true
	c.advance(uncached, &d)
	return d
}

// healthy reports that a server is reachable, though it has not responded.
func (c *serverChoice) healthy(i int) { c.servers[i].failed = false }

// responded reports that a server has responded. It returns whether its responses count. With the
// first response of an earlier server, the later ones are dropped.
func (c *serverChoice) responded(i int) (d decision, counts bool) {
	if i > c.active {
		return d, false
	}
	c.servers[i].failed = false
	c.active = i
	c.dropAfter(i, &d)
	return d, true
}

// advance switches to the next server while the active one has failed and some watched resource is
// not cached, or if the next server is used eagerly. The last server stays active even if it fails.
func (c *serverChoice) advance(uncached bool, d *decision) {
	for (uncached || c.active+1 < c.eager) && c.servers[c.active].failed && c.active+1 < len(c.servers) {
		c.use(c.active+1, d)
	}
}

func (c *serverChoice) use(i int, d *decision) {
	c.servers[i] = serverUse{used: true}
	c.active = i
	d.use = append(d.use, i)
}

func (c *serverChoice) dropAfter(i int, d *decision) {
	for j := i + 1; j < len(c.servers); j++ {
		if c.servers[j].used {
			c.servers[j] = serverUse{}
			d.drop = append(d.drop, j)
		}
	}
}
