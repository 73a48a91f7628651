package adsserver

import (
	"cmp"
	"slices"
	"time"
)

// A Client is the state of one stream.
type Client struct {
	Node  string
	Since time.Time
	Delta bool
	URL   string // of the only type; "" for the aggregated service
	About any    // of [StreamOptions]
	Types []ClientType

	number int
}

// A ClientType is the state of one type on a stream.
type ClientType struct {
	URL      string
	Names    int       // subscriptions
	Refused  int       // subscriptions without permission
	Sent     uint64    // responses
	Last     uint64    // nonce of the last response, counted over all types; 0: none
	Accepted uint64    // nonce of the last response that the client accepted; 0: none
	Rejected int       // rejected responses
	Reason   string    // of the last rejection
	UpToDate bool      // the client has accepted the newest resources
	Behind   time.Time // since when it has not; zero if UpToDate

	// The versions of the last response, and of the last ones that the client accepted and rejected.
	Version, AcceptedVersion, RejectedVersion string
}

// Clients returns the open streams, the oldest first.
func (c *Core) Clients() []Client {
	var list []Client
	c.eachStream(func(n int) { list = make([]Client, 0, n) }, func(st *Stream) {
		x := Client{
			Node: st.node, Since: st.begin, Delta: st.delta, URL: st.url, About: st.about, number: st.number,
			Types: make([]ClientType, 0, len(st.kinds)),
		}
		for _, s := range st.kinds {
			x.Types = append(x.Types, s.state())
		}
		list = append(list, x)
	})
	slices.SortFunc(list, func(a, b Client) int { return cmp.Compare(a.number, b.number) })
	return list
}

// eachStream calls begin with the number of open streams, and f with each that is still open, with the lock. Others may have
// the lock between two parts of them. One call at a time waits for the lock: changes wait for one part of the streams,
// however many callers there are.
func (c *Core) eachStream(begin func(n int), f func(st *Stream)) {
	c.reading.Lock()
	defer c.reading.Unlock()
	const opened = 16 // streams, while the list is made
	list := make([]*Stream, 0, c.OpenStreams()+opened)
	c.mu.Lock()
	for st := range c.streams {
		list = append(list, st)
	}
	c.mu.Unlock()
	begin(len(list))
	for part := range slices.Chunk(list, c.part) {
		c.mu.Lock()
		for _, st := range part {
			if st.err == nil {
				f(st)
			}
		}
		c.mu.Unlock()
		c.between()
	}
}

func (s *substream) state() ClientType {
	t := ClientType{
		URL: s.kind.url, Names: int(s.direct) + len(s.lists), Refused: len(s.refused) - s.pardons, Sent: s.sent, Last: s.nonce, Accepted: s.acked,
		Rejected: s.rejected, Reason: s.reason, UpToDate: s.upToDate(),
		Version: s.version, AcceptedVersion: s.accepted, RejectedVersion: s.rejects,
	}
	if !t.UpToDate && s.behind != 0 {
		t.Behind = time.Unix(0, s.behind)
	}
	return t
}
