package serve

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/internal/adsserver"
)

// A Client is the state of one stream. A client is not trusted: escape its texts before you print them.
type Client struct {
	Node     string       // id of the client's node
	Identity Identity     // by the client's certificate
	Address  string       // of the network
	View     string       // of [WithViews]; "" for the sources of [New]
	Service  string       // full name of the gRPC service
	Delta    bool         // the variant of the protocol
	Since    time.Time    // start of the stream
	Types    []ClientType // in the order in which they are sent
}

// A ClientType is the state of one type on a stream.
type ClientType struct {
	URL     string
	Names   int // subscriptions
	Refused int // subscriptions without permission

	Responses  uint64 // sent responses
	Rejections int    // responses that the client rejected
	Reason     string // of the last rejection, by the client

	// The versions of the last response that the server sent, that the client accepted, and that the
	// client rejected. They are empty if there is none.
	Sent, Accepted, Rejected string

	// UpToDate means that the client has accepted the newest resources.
	UpToDate bool
	// Behind is the time since when it has not. It is zero if UpToDate.
	Behind time.Time
}

// Lag returns for how long the client has lacked the newest resources of a type.
func (t *ClientType) Lag(now time.Time) time.Duration {
	if t.Behind.IsZero() {
		return 0
	}
	return max(0, now.Sub(t.Behind))
}

// Clients yields the open streams, the oldest first. A stream is open from its first request.
func (s *Server) Clients() iter.Seq[Client] {
	return func(yield func(Client) bool) {
		var list []adsserver.Client
		for _, c := range s.cores() {
			list = append(list, c.Clients()...)
		}
		slices.SortStableFunc(list, func(a, b adsserver.Client) int { return cmp.Compare(a.Since.UnixNano(), b.Since.UnixNano()) })
		for i := range list {
			if !yield(clientState(&list[i])) {
				return
			}
		}
	}
}

func clientState(c *adsserver.Client) Client {
	g := c.About.(*guest)
	out := Client{
		Node: c.Node, Identity: g.identity, Address: g.address, View: g.view, Service: g.method.Service,
		Delta: c.Delta, Since: c.Since, Types: make([]ClientType, 0, len(c.Types)),
	}
	for _, t := range c.Types {
		out.Types = append(out.Types, ClientType{
			URL: t.URL, Names: t.Names, Refused: t.Refused, Responses: t.Sent, Rejections: t.Rejected, Reason: t.Reason,
			Sent: t.Version, Accepted: t.AcceptedVersion, Rejected: t.RejectedVersion, UpToDate: t.UpToDate, Behind: t.Behind,
		})
	}
	return out
}
