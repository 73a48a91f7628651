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
	Types []ClientType

	number int
}

// A ClientType is the state of one type on a stream.
type ClientType struct {
	URL       string
	Names     int
	Sent      uint64
	Accepted  uint64
	Rejected  int
	Reason    string
	UpToDate  bool
	Responded uint64
}

// Clients returns the open streams, the oldest first.
func (c *Core) Clients() []Client {
	c.mu.Lock()
	list := make([]Client, 0, len(c.streams))
	for st := range c.streams {
		x := Client{Node: st.node, Since: st.begin, Delta: st.delta, number: st.number, Types: make([]ClientType, 0, len(st.kinds))}
		for _, s := range st.kinds {
			x.Types = append(x.Types, ClientType{
				URL: s.kind.url, Names: len(s.subscriptions()), Sent: s.sent, Accepted: s.acked,
				Rejected: s.rejected, Reason: s.reason, UpToDate: s.lacks() == "", Responded: s.nonce,
			})
		}
		list = append(list, x)
	}
	c.mu.Unlock()
	slices.SortFunc(list, func(a, b Client) int { return cmp.Compare(a.number, b.number) })
	return list
}
