package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A mode tracks whether a server serves at an address. next decides whether to report a state. The zero value has no
// state yet.
type mode struct {
	known bool
	err   error // the reason not to serve; nil: the server serves
}

// next takes the newest state. It returns true for the first state, another mode, or another reason.
func (m *mode) next(err error) (changed bool) {
	changed = !m.known || (m.err == nil) != (err == nil) || err != nil && m.err.Error() != err.Error()
	m.known, m.err = true, err
	return changed
}

var errOfClient = errors.New("it is a listener of clients, with an api_listener and no filter chains")

// own returns the reason why the port cannot use a Listener, or nil if it can. The Listener's address must be the one
// that the server listens on (A36). Port 0 of a Listener matches any port.
func (p *Port[R]) own(u *listener.Update) error {
	if u.API != nil {
		return fmt.Errorf("%s: Listener %s: %w", p.config.Package, label(u.Name().String()), errOfClient)
	}
	want, err := netip.ParseAddrPort(u.Address)
	if err == nil && (want.Port() == p.addr.Port() || want.Port() == 0) {
		a, b := want.Addr().Unmap(), p.addr.Addr().Unmap()
		if a == b || p.config.AnyAddress && a.IsUnspecified() && b.IsUnspecified() {
			return nil
		}
	}
	hint := ""
	if want.Addr() == netip.IPv4Unspecified() {
		hint = p.anyAddressHint()
	}
	return fmt.Errorf("%s: Listener %s: its address is %s, but the server listens on %q%s", p.config.Package, label(u.Name().String()), label(u.Address), p.addr, hint)
}

// anyAddressHint explains why a server that was given 0.0.0.0 listens on [::]. It is empty if the
// server does not listen there.
func (p *Port[R]) anyAddressHint() string {
	if p.addr.Addr() != netip.IPv6Unspecified() {
		return ""
	}
	v4 := netip.AddrPortFrom(netip.IPv4Unspecified(), p.addr.Port())
	return fmt.Sprintf("; net.Listen(%q, %q) listens on %s, use the network %q for %s", "tcp", v4, p.addr, "tcp4", v4)
}

// warnings implements the configuration error logging of A36. It warns at every update that makes calls fail, and
// once when that ends.
type warnings struct{ failing bool }

// maxProblems is the number of problems that a warning lists.
const maxProblems = 10

func (w *warnings) log(l *slog.Logger, addr net.Addr, problems []string) {
	switch n := len(problems); {
	case n > 0:
		l.Warn("the configuration makes calls fail", "addr", addr, "count", n,
			"problems", problems[:min(n, maxProblems)])
	case w.failing:
		l.Warn("the configuration no longer makes calls fail", "addr", addr)
	}
	w.failing = len(problems) > 0
}
