package listener

import (
	"net"
	"net/netip"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Conn has the local and remote address of a connection, by which filter chains are
// found.
type Conn struct {
	Local, Remote netip.AddrPort
}

// ConnOf returns the addresses of a connection. They are invalid if the connection is not
// an IP connection. Such a connection only matches chains that ignore addresses.
func ConnOf(c net.Conn) Conn {
	return Conn{Local: addrPort(c.LocalAddr()), Remote: addrPort(c.RemoteAddr())}
}

func addrPort(a net.Addr) netip.AddrPort {
	if a, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

// FilterChain returns the filter chain that matches a connection most specifically (gRFC
// A36). It compares the destination address, the transport protocol, the kind of source,
// the source address and the source port, in this order. As in Envoy, each step is final.
// If no chain matches, FilterChain returns DefaultFilterChain. If that is nil, the server
// must close the connection.
//
// FilterChain is fast with any number of chains. It does not allocate and is safe for
// concurrent use.
func (u *Update) FilterChain(c Conn) *FilterChain {
	switch {
	case u == nil:
		return nil
	case len(u.FilterChains) == 0:
		return u.DefaultFilterChain
	case u.chains == nil: // the update does not come from a decoder
		return u.searched(c)
	}
	if i := u.chains.find(c.Local.Addr().Unmap(), c.Remote.Addr().Unmap(), c.Remote.Port()); i >= 0 && i < len(u.FilterChains) {
		return &u.FilterChains[i]
	}
	return u.DefaultFilterChain
}

// searched implements FilterChain without the table.
func (u *Update) searched(c Conn) *FilterChain {
	t, _ := newChainTable(&resource.DecodeContext{}, nil, u.Address, u.FilterChains, u.DefaultFilterChain) // if chains clash, the first one wins
	with := Update{FilterChains: u.FilterChains, DefaultFilterChain: u.DefaultFilterChain, chains: t}
	return with.FilterChain(c)
}

// A chainTable finds the filter chain for a connection. It is immutable.
type chainTable struct{ destinations level[transports] }

// The levels of the search, one after the other. A nil pointer is an empty level.
type (
	// transports selects by transport protocol. It is always raw_buffer, because gRPC has
	// no listener filters that detect another one. A chain may name it.
	transports struct{ raw, any *level[sourceTypes] }
	// sourceTypes selects by whether the source is this machine.
	sourceTypes struct{ local, external, any *level[ports] }
	// ports has the chains by source port; any is -1 if there is none.
	ports struct {
		any  int
		port map[uint16]int
	}
)

// Equal reports true: the table is derived from the filter chains' matches, which Raw has.
func (t *chainTable) Equal(*chainTable) bool { return true }

func (t *chainTable) find(local, remote netip.Addr, port uint16) int {
	d := t.destinations.find(local)
	if d == nil {
		return -1
	}
	direct := d.raw
	if direct == nil {
		direct = d.any
	}
	types := direct.find(remote)
	if types == nil {
		return -1
	}
	sources := types.external
	if remote.IsLoopback() || remote == local {
		sources = types.local
	}
	if sources == nil {
		sources = types.any
	}
	if sources == nil {
		return -1
	}
	p := sources.find(remote)
	if p == nil {
		return -1
	}
	if i, ok := p.port[port]; ok {
		return i
	}
	return p.any
}

// add adds the match of one chain.
func (t *chainTable) add(m match, chain int) {
	d := t.destinations.at(m.destination)
	direct := &d.any
	if m.transport != "" {
		direct = &d.raw
	}
	types := made(direct).at(m.direct)
	var sources **level[ports]
	switch m.sourceType {
	case SourceTypeSameIpOrLoopback:
		sources = &types.local
	case SourceTypeExternal:
		sources = &types.external
	default:
		sources = &types.any
	}
	p := made(sources).at(m.source)
	if p.port == nil {
		*p = ports{any: -1, port: make(map[uint16]int)}
	}
	if m.sourcePort == 0 {
		p.any = chain
	} else {
		p.port[m.sourcePort] = chain
	}
}

// made returns *p. It creates the value if *p is nil.
func made[T any](p **level[T]) *level[T] {
	if *p == nil {
		*p = new(level[T])
	}
	return *p
}

// freeze completes the table.
func (t *chainTable) freeze() {
	t.destinations.freeze(func(d *transports) {
		for _, direct := range []*level[sourceTypes]{d.raw, d.any} {
			direct.freeze(func(types *sourceTypes) {
				for _, s := range []*level[ports]{types.local, types.external, types.any} {
					s.freeze(func(*ports) {})
				}
			})
		}
	})
}
