package server

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// TestPort follows a port from its start through changes of its resources.
func TestPort(t *testing.T) {
	onStage(t, func(s *stage) {
		s.described("at first", "127.0.0.1:80 web STARTING for 0s ")
		s.connect(10, 0, 0, 1)
		s.listener(80, rest("a"))
		s.want("the Listener waits for its routes")
		s.described("without routes", "127.0.0.1:80 web STARTING for 1s ")
		s.route("one", served)
		s.want("the routes are known", "report <nil>")
		s.connect(10, 0, 0, 1)
		s.connect(10, 0, 0, 2)
		s.connect(11, 0, 0, 1)
		s.want("the first connections", "open ten at 127.0.0.1:80 with r/one", "open rest at 127.0.0.1:80 with web/a")
		s.described("with connections", "127.0.0.1:80 web SERVING for 2s ", "generation 1, 2s old, draining 0s, 6 handshakes",
			`chain "ten", default false, TLS false, routes r/one, error , 2 connections`,
			`chain "rest", default true, TLS false, routes web/a, error , 1 connections`)

		s.route("two", served)
		s.want("other routes", "route ten to r/two", "route rest to web/a", "release r/one of ten", "release web/a of rest")
		s.described("with other routes", "127.0.0.1:80 web SERVING for 3s ", "generation 1, 3s old, draining 0s, 6 handshakes",
			`chain "ten", default false, TLS false, routes r/two, error , 2 connections`,
			`chain "rest", default true, TLS false, routes web/a, error , 1 connections`)

		s.listener(80, "")
		s.want("another Listener", "drain ten", "drain rest")
		s.connect(10, 0, 0, 1)
		s.connect(11, 0, 0, 1)
		s.want("connections to the new Listener, of which one matches no chain", "open ten at 127.0.0.1:80 with r/two")
		s.described("while the old one drains", "127.0.0.1:80 web SERVING for 5s ", "generation 2, 2s old, draining 0s, 3 handshakes",
			`chain "ten", default false, TLS false, routes r/two, error , 1 connections`,
			"generation 1, 5s old, draining 2s, 6 handshakes",
			`chain "ten", default false, TLS false, routes r/two, error , 2 connections`,
			`chain "rest", default true, TLS false, routes web/a, error , 1 connections`)

		s.listener(81, "")
		const reason = `test: Listener "web": its address is "127.0.0.1:81", but the server listens on "127.0.0.1:80"`
		s.want("a Listener of another address", "report "+reason, "drain ten")
		s.connect(10, 0, 0, 1)
		s.listener(82, "")
		s.want("a Listener of a third address", "report "+strings.Replace(reason, "81", "82", 1))
		<-time.NewTimer(time.Minute).C
		s.want("after the grace period", "stop ten", "stop rest", "release r/two of ten", "release web/a of rest", "stop ten", "release r/two of ten")
		s.described("in the end", "127.0.0.1:80 web NOT_SERVING for 1m2s "+strings.Replace(reason, "81", "82", 1))
	})
}

// TestMissingRoutes expects a port to serve without the routes of a chain. The calls fail (A36), and a warning says so until
// the routes are there.
func TestMissingRoutes(t *testing.T) {
	onStage(t, func(s *stage) {
		s.listener(80, rest("a"))
		<-time.NewTimer(time.Minute).C
		s.want("without the routes", "report <nil>")
		const failure = `RouteConfiguration "r": does not exist: the control plane did not send it in time after it was asked for`
		s.described("without the routes", "127.0.0.1:80 web SERVING for 46s ", "generation 1, 46s old, draining 0s, 0 handshakes",
			`chain "ten", default false, TLS false, routes , error `+failure+`, 0 connections`,
			`chain "rest", default true, TLS false, routes web/a, error , 0 connections`)
		s.route("one", unserved)
		s.want("with a route that servers do not have", "release  of ten", "release web/a of rest")
		s.route("two", served)
		s.want("with a route", "release r/one of ten", "release web/a of rest")
		const warning = `level=WARN msg="the configuration makes calls fail" addr=127.0.0.1:80 count=1 ` +
			`problems="[RouteConfiguration \"r\": the action of route 0 \"x\" of virtual host \"one\" is not served]"`
		if log := s.log.String(); strings.Count(log, warning) != 1 || strings.Count(log, "no longer makes calls fail") != 1 || strings.Count(log, "\n") != 2 {
			t.Errorf("logged\n%s\nwant a warning, and its end:\n%s", log, warning)
		}
	})
}

// TestFollow expects a port to need the routes and the configurations of filters of a Listener that it can use.
func TestFollow(t *testing.T) {
	onStage(t, func(s *stage) {
		const cluster = "envoy.config.cluster.v3.Cluster"
		usable, other := &listener.Update{Address: "127.0.0.1:80"}, &listener.Update{API: new(listener.Manager)}
		for _, test := range []struct {
			from resource.Update
			to   string
			want bool
		}{
			{usable, route.Type().Name(), true},
			{usable, extension.Type().Name(), true},
			{usable, cluster, false},
			{other, route.Type().Name(), false},
			{other, extension.Type().Name(), false},
			{new(route.Update), extension.Type().Name(), true},
			{new(route.Update), cluster, false},
		} {
			if got := s.port.follow(test.from, resource.Ref{Type: test.to}); got != test.want {
				t.Errorf("follow(%T, %s) = %t, want %t", test.from, test.to, got, test.want)
			}
		}
	})
}

// TestGracefulStop waits for the calls of all generations, without a limit.
func TestGracefulStop(t *testing.T) {
	onStage(t, func(s *stage) {
		s.route("one", served)
		s.listener(80, "")
		s.want("it serves", "report <nil>")
		s.connect(10, 0, 0, 1)
		old := s.chains["ten"]
		s.listener(80, rest("a"))
		s.want("another Listener", "open ten at 127.0.0.1:80 with r/one", "drain ten")
		s.connect(10, 0, 0, 1)
		stopped := make(chan struct{})
		go func() { s.port.GracefulStop(); close(stopped) }()
		s.want("a graceful stop", "open ten at 127.0.0.1:80 with r/one", "drain ten")
		s.described("while it stops", "127.0.0.1:80 web STOPPED for 1s ", "generation 2, 2s old, draining 1s, 3 handshakes",
			`chain "ten", default false, TLS false, routes r/one, error , 1 connections`,
			`chain "rest", default true, TLS false, routes web/a, error , 0 connections`,
			"generation 1, 3s old, draining 2s, 3 handshakes",
			`chain "ten", default false, TLS false, routes r/one, error , 1 connections`)
		old.end.Do(func() { close(old.idle) })
		s.want("the calls of the old Listener end", "release r/one of ten")
		s.listener(80, "")
		<-time.NewTimer(time.Hour).C
		s.want("after an hour")
		s.chains["ten"].end.Do(func() { close(s.chains["ten"].idle) })
		s.want("all calls end", "release r/one of ten", "release web/a of rest")
		<-stopped
		s.described("after the stop", "127.0.0.1:80 web STOPPED for 1h0m4s ")
	})
}

// TestStopEndsAGracefulStop expects the chains of all generations to stop.
func TestStopEndsAGracefulStop(t *testing.T) {
	onStage(t, func(s *stage) {
		s.route("one", served)
		s.listener(80, "")
		s.want("it serves", "report <nil>")
		s.connect(10, 0, 0, 1)
		stopped := make(chan struct{})
		go func() { s.port.GracefulStop(); close(stopped) }()
		s.want("a graceful stop", "open ten at 127.0.0.1:80 with r/one", "drain ten")
		s.port.Stop()
		<-stopped
		s.want("a stop", "stop ten", "release r/one of ten")
	})
}

// TestLoggedModes expects one log line for each change, and none to say "again" at first.
func TestLoggedModes(t *testing.T) {
	var log strings.Builder
	a, b := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 81}
	passed := 0
	report := Reporter(slog.New(slog.NewTextHandler(&log, nil)), func(net.Addr, error) { passed++ })
	report(a, nil)
	report(b, errors.New("bad"))
	report(a, errors.New("worse"))
	report(b, nil)
	report(b, nil)
	Reporter(slog.New(slog.NewTextHandler(&log, nil)), nil)(a, nil)
	var got []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " level=")
		got = append(got, line)
	}
	want := `INFO msg="xDS server is serving" addr=127.0.0.1:80
WARN msg="xDS server is not serving" addr=127.0.0.1:81 error=bad
WARN msg="xDS server is not serving" addr=127.0.0.1:80 error=worse
INFO msg="xDS server is serving again" addr=127.0.0.1:81
INFO msg="xDS server is serving" addr=127.0.0.1:81
INFO msg="xDS server is serving" addr=127.0.0.1:80`
	if strings.Join(got, "\n") != want || passed != 5 {
		t.Errorf("logged\n%s\nand passed %d modes on; want 5 and\n%s", strings.Join(got, "\n"), passed, want)
	}
}

// TestForeignRoutes finds no routes in a resource of another type.
func TestForeignRoutes(t *testing.T) {
	const want = "a filter chain's routes are a listener.Inline; there must be a RouteConfiguration"
	if u, err := find(nil, nil, &listener.Manager{Routes: listener.Inline{}}); u != (*route.Update)(nil) || err == nil || err.Error() != want {
		t.Errorf("the routes are %v, %v; want %s", u, err, want)
	}
}
