package server

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A mode is whether a server serves at an address, as a machine: next says what is to be
// told. The zero value is that of a server which has heard nothing yet.
type mode struct {
	heard bool
	err   error // why the server does not serve; nil: it does
}

// next takes the newest state, and reports whether it is news: the first one, another
// mode, or another reason.
func (m *mode) next(err error) (news bool) {
	news = !m.heard || (m.err == nil) != (err == nil) || err != nil && m.err.Error() != err.Error()
	m.heard, m.err = true, err
	return news
}

var errOfClient = errors.New("it is a listener of clients, with an api_listener and no filter chains")

// matchAddress says why a Listener cannot be that of a server which listens on addr; nil:
// it can. Port 0 of a Listener matches any port.
func matchAddress(u *listener.Update, addr netip.AddrPort) error {
	if u.API != nil {
		return fmt.Errorf("grpcxds: Listener %q: %w", u.Name(), errOfClient)
	}
	want, err := netip.ParseAddrPort(u.Address)
	if err == nil && want.Addr().Unmap() == addr.Addr().Unmap() && (want.Port() == addr.Port() || want.Port() == 0) {
		return nil
	}
	return fmt.Errorf("grpcxds: Listener %q: its address is %q, but the server listens on %q", u.Name(), u.Address, addr)
}
