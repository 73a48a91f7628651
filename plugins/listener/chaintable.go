package listener

import (
	"net"
	"net/netip"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Conn is what filter chains are found by: the two ends of a connection.
type Conn struct {
	Local, Remote netip.AddrPort
}

// ConnOf takes the ends from a connection. Those of a connection that is not one of IP
// are not valid, and only chains that do not look at them are for it.
func ConnOf(c net.Conn) Conn {
	return Conn{Local: addrPort(c.LocalAddr()), Remote: addrPort(c.RemoteAddr())}
}

func addrPort(a net.Addr) netip.AddrPort {
	if a, ok := a.(interface{ AddrPort() netip.AddrPort }); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

// FilterChain finds the filter chain for a connection (gRFC A36): the one that
// matches most specifically, by the address that was called, then the transport
// protocol, the kind of source, its address, and its port. As in Envoy, each of these is
// decided before the next is looked at. It is DefaultFilterChain when none matches, and
// nil without that: the connection is to be closed.
//
// The number of chains hardly matters. It allocates nothing, and may be called from
// several goroutines.
func (u *Update) FilterChain(c Conn) *FilterChain {
	if u == nil {
		return nil
	}
	if u.chains == nil && len(u.FilterChains) > 0 { // no decoder made the update
		return u.searched(c)
	}
	if i := u.chains.find(c.Local.Addr().Unmap(), c.Remote.Addr().Unmap(), c.Remote.Port()); i >= 0 && i < len(u.FilterChains) {
		return &u.FilterChains[i]
	}
	return u.DefaultFilterChain
}

// searched is FilterChain without the table.
func (u *Update) searched(c Conn) *FilterChain {
	t, _ := newChainTable(&resource.DecodeContext{}, nil, u.FilterChains, u.DefaultFilterChain) // where chains clash, the first counts
	with := Update{FilterChains: u.FilterChains, DefaultFilterChain: u.DefaultFilterChain, chains: t}
	return with.FilterChain(c)
}

// A chainTable finds the filter chain for a connection. It is made once, and is
// immutable. Nil finds none.
type chainTable struct{ destinations level[transports] }

// What is told apart, one after the other. A nil pointer is none.
type (
	// transports: the protocol is always raw_buffer, since gRPC has no listener
	// filters that could find out another; a chain may say so.
	transports struct{ raw, any *level[sourceTypes] }
	// sourceTypes: from this machine or not.
	sourceTypes struct{ local, external, any *level[ports] }
	// ports: the chains by the port of the source; any is -1 where there is none.
	ports struct {
		any  int
		port map[uint16]int
	}
)

// Equal reports true: a table follows from the filter chains' matches, which Raw has.
func (t *chainTable) Equal(*chainTable) bool { return true }

func (t *chainTable) find(local, remote netip.Addr, port uint16) int {
	if t == nil {
		return -1
	}
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

// add adds what one chain matches.
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

// made is what p points to, made if it is not there.
func made[T any](p **level[T]) *level[T] {
	if *p == nil {
		*p = new(level[T])
	}
	return *p
}

// freeze ends the making of the table.
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
