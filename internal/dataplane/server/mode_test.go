package server

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

func TestModeTellsWhatIsNew(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	for name, c := range map[string]struct {
		states []error
		news   []bool
	}{
		"serves at once":            {[]error{nil, nil}, []bool{true, false}},
		"does not at first":         {[]error{a, nil}, []bool{true, true}},
		"the same reason, again":    {[]error{a, errors.New("a")}, []bool{true, false}},
		"another reason":            {[]error{a, b}, []bool{true, true}},
		"stops serving, and serves": {[]error{nil, a, nil, a}, []bool{true, true, true, true}},
	} {
		var m mode
		var news []bool
		for _, err := range c.states {
			news = append(news, m.next(err))
		}
		if !slices.Equal(news, c.news) {
			t.Errorf("%s: news %v; want %v", name, news, c.news)
		}
	}
}

func TestMatchAddress(t *testing.T) {
	const chain = ` default_filter_chain { filters { name: "hcm" typed_config { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
		route_config {} http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } } }`
	at := func(host, port string) string {
		return `address { socket_address { address: "` + host + `" port_value: ` + port + ` } }` + chain
	}
	for _, c := range []struct {
		listener, listens string
		want              string // a part of the error; empty: they match
		any               bool
	}{
		{at("127.0.0.1", "80"), "127.0.0.1:80", "", false},
		{at("127.0.0.1", "0"), "127.0.0.1:80", "", false},
		{at("::", "80"), "[::]:80", "", false},
		{at("0:0::0", "80"), "[::]:80", "", false},
		{at("127.0.0.1", "80"), "[::ffff:127.0.0.1]:80", "", false},
		{at("127.0.0.1", "81"), "127.0.0.1:80", `its address is "127.0.0.1:81", but the server listens on "127.0.0.1:80"`, false},
		{at("127.0.0.2", "80"), "127.0.0.1:80", `"127.0.0.2:80"`, false},
		{at("127.0.0.2", "0"), "127.0.0.1:80", `"127.0.0.2:0"`, false},
		{at("0.0.0.0", "80"), "[::]:80", `"0.0.0.0:80", but the server listens on "[::]:80"`, false},
		{at("localhost", "80"), "127.0.0.1:80", `"localhost:80"`, false},
		{at("::", "80"), "0.0.0.0:80", `"[::]:80", but the server listens on "0.0.0.0:80"`, false},
		{at("0.0.0.0", "80"), "[::]:80", `; net.Listen("tcp", "0.0.0.0:80") listens on [::]:80, use the network "tcp4" for 0.0.0.0:80`, false},
		{at("0.0.0.0", "80"), "[::]:80", "", true},
		{at("0.0.0.0", "0"), "[::]:80", "", true},
		{at("::", "80"), "0.0.0.0:80", "", true},
		{at("0.0.0.0", "81"), "[::]:80", `"0.0.0.0:81"`, true},
		{at("0.0.0.0", "80"), "127.0.0.1:80", `"0.0.0.0:80"`, true},
		{at("127.0.0.1", "80"), "[::]:80", `"127.0.0.1:80"`, true},
		{at("localhost", "80"), "[::]:80", `"localhost:80"`, true},
		{`api_listener { api_listener { [type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			route_config {} http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } } } } }`, "127.0.0.1:80", "listener of clients", true},
	} {
		u := plugincase.Read[*listener.Update](t, listener.Type(), new(listenerv3.Listener), `name: "web" `+c.listener)
		p := &Port[*named]{addr: netip.MustParseAddrPort(c.listens), config: &Config{AnyAddress: c.any}}
		err := p.own(u)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"web"`)) {
			t.Errorf("%q for %s: %v; want %q", u.Address, c.listens, err, c.want)
		}
	}
}

func TestWarningsUntilAllIsWell(t *testing.T) {
	var out strings.Builder
	l := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.MessageKey {
			return slog.Attr{}
		}
		return a
	}}))
	var w warnings
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	many := make([]string, maxProblems+1)
	for _, problems := range [][]string{nil, {"a"}, {"a"}, many, nil, nil, nil} {
		w.log(l, addr, problems)
	}
	const each = "level=WARN addr=127.0.0.1:80"
	want := each + " count=1 problems=[a]\n" + each + " count=1 problems=[a]\n" +
		each + ` count=11 problems="[` + strings.Repeat(" ", maxProblems-1) + `]"` + "\n" + each + "\n"
	if out.String() != want {
		t.Errorf("logged\n%s; want\n%s", &out, want)
	}
}

// A server that was given 0.0.0.0 and listens on [::] subscribes to a Listener that does not exist.
func TestMissingListenerOfAnyAddress(t *testing.T) {
	missing := &resource.Error{Kind: resource.ErrNotFound, Type: "envoy.config.listener.v3.Listener"}
	const hint = `use the network "tcp4" for 0.0.0.0:80`
	for _, c := range []struct {
		listens string
		err     error
		want    bool
	}{
		{"[::]:80", missing, true},
		{"[::]:80", resource.ErrTransport, false},
		{"[::]:80", resource.ErrRemoved, false},
		{"0.0.0.0:80", missing, false},
		{"127.0.0.1:80", missing, false},
	} {
		var got error
		addr := netip.MustParseAddrPort(c.listens)
		p := &Port[*named]{addr: addr, lis: listenerAt{addr: net.TCPAddrFromAddrPort(addr)}, config: &Config{Report: func(_ net.Addr, err error) { got = err }}}
		p.update(nil, c.err)
		if !errors.Is(got, c.err) || strings.Contains(got.Error(), hint) != c.want {
			t.Errorf("%v on %s is reported as %v; with the hint: want %v", c.err, c.listens, got, c.want)
		}
	}
}

// listenerAt is a listener that has only an address.
type listenerAt struct {
	net.Listener
	addr net.Addr
}

func (l listenerAt) Addr() net.Addr { return l.addr }

// After Stop, the server does not call the callback any more.
func TestNothingIsReportedOnceAPortHasStopped(t *testing.T) {
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPort[*named](&Config{Report: func(_ net.Addr, err error) { t.Errorf("reported %v", err) }}, nil, lis, "web")
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()
	p.update(nil, net.ErrClosed)
}
