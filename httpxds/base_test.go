package httpxds_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// A counted is a server that counts its connections.
type counted struct {
	addr string
	mu   sync.Mutex
	open map[net.Conn]bool
	most int
	all  int
}

// countConns starts a server of HTTP/1.1 and of HTTP/2 without TLS, whose connections have one request at a time.
func countConns(t *testing.T, h http.HandlerFunc) *counted {
	t.Helper()
	c := &counted{open: make(map[net.Conn]bool)}
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
	s.Config.ConnState = func(nc net.Conn, state http.ConnState) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch state {
		case http.StateNew:
			c.open[nc] = true
			c.all++
			c.most = max(c.most, len(c.open))
		case http.StateClosed:
			delete(c.open, nc)
		default:
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c.addr = s.Listener.Addr().String()
	return c
}

// counts returns the numbers of connections that are open, that were open at once, and of all.
func (c *counted) counts() (open, most, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open), c.most, c.all
}

// A dialed counts the connections of a client that are open at once.
type dialed struct{ open, most atomic.Int64 }

func (d *dialed) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n := d.open.Add(1)
	for most := d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); most = d.most.Load() {
	}
	return &dialedConn{Conn: c, closed: sync.OnceFunc(func() { d.open.Add(-1) })}, nil
}

type dialedConn struct {
	net.Conn
	closed func()
}

func (c *dialedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// load sends requests, some at a time, and expects each to succeed.
func load(t *testing.T, rt http.RoundTripper, workers, requests int) {
	t.Helper()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range requests {
				if body, err := post(t, rt, strings.NewReader("x")); body != "x" || err != nil {
					t.Errorf("%q, %v; want the body", body, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Each setting of the template that net/http does not apply to single connections has an effect of its own, or none. ADR 345
// has the reasons.
var eachProtocol = map[string]httpxds.Protocol{"HTTP/1.1": httpxds.HTTP1, "HTTP/2": httpxds.HTTP2}

// TestMaxConnsPerHost expects a limit of connections to an endpoint, also if the endpoint closes them.
func TestMaxConnsPerHost(t *testing.T) {
	for name, p := range eachProtocol {
		t.Run(name, func(t *testing.T) {
			s := countConns(t, func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor == 1 {
					w.Header().Set("Connection", "close")
				}
				read(w, r)
			})
			d := new(dialed) // the server may learn late that the client has closed one
			load(t, single(t, s.addr, "", httpxds.WithProtocol(p), httpxds.WithBase(&http.Transport{MaxConnsPerHost: 2, DialContext: d.dial})), 8, 10)
			if most := d.most.Load(); most > 2 || most == 0 {
				t.Errorf("%d connections at once; want at most 2", most)
			}
		})
	}
}

// TestMaxConnsPerHostOfTheDefault expects the limit of http.DefaultTransport to hold, because it is the default template.
func TestMaxConnsPerHostOfTheDefault(t *testing.T) {
	for name, p := range eachProtocol {
		s := countConns(t, read)
		d := new(dialed)
		before := http.DefaultTransport
		http.DefaultTransport = &http.Transport{MaxConnsPerHost: 1, DialContext: d.dial}
		rt := single(t, s.addr, "", httpxds.WithProtocol(p))
		http.DefaultTransport = before
		load(t, rt, 8, 10)
		if most := d.most.Load(); most != 1 {
			t.Errorf("%s: %d connections at once; want 1", name, most)
		}
	}
}

// TestDisableKeepAlives expects a connection for each request.
func TestDisableKeepAlives(t *testing.T) {
	for name, p := range eachProtocol {
		for setting, base := range map[string]*http.Transport{
			"DisableKeepAlives": {DisableKeepAlives: true}, "MaxIdleConnsPerHost": {MaxIdleConnsPerHost: -1},
		} {
			t.Run(name+" "+setting, func(t *testing.T) {
				s := countConns(t, read)
				load(t, single(t, s.addr, "", httpxds.WithProtocol(p), httpxds.WithBase(base)), 8, 20)
				if _, _, all := s.counts(); all < 160 {
					t.Errorf("%d connections; want one for each of 160 requests", all)
				}
			})
		}
	}
}

// TestMaxIdleConnsPerHost expects a limit of the connections that stay open without a request.
func TestMaxIdleConnsPerHost(t *testing.T) {
	var busy sync.WaitGroup
	busy.Add(5)
	s := countConns(t, func(w http.ResponseWriter, r *http.Request) {
		busy.Done()
		busy.Wait() // so that five requests need five connections
		read(w, r)
	})
	load(t, single(t, s.addr, "", httpxds.WithBase(&http.Transport{MaxIdleConnsPerHost: 2})), 5, 1)
	until(t, func() (bool, string) {
		open, _, _ := s.counts()
		return open == 2, "the idle connections stay open"
	})
	if _, most, _ := s.counts(); most < 5 {
		t.Errorf("%d connections at once; want five", most)
	}
}

// TestIdleConnTimeout expects idle connections to close except for one, whatever their protocol.
func TestIdleConnTimeout(t *testing.T) {
	for name, p := range eachProtocol {
		t.Run(name, func(t *testing.T) {
			var busy sync.WaitGroup
			busy.Add(3)
			s := countConns(t, func(w http.ResponseWriter, r *http.Request) {
				busy.Done()
				busy.Wait() // so that three requests need three connections
				read(w, r)
			})
			base := &http.Transport{IdleConnTimeout: 20 * time.Millisecond}
			load(t, single(t, s.addr, "", httpxds.WithProtocol(p), httpxds.WithBase(base)), 3, 1)
			until(t, func() (bool, string) {
				open, _, all := s.counts()
				return open == 1 && all == 3, "idle connections stay open"
			})
		})
	}
}

// TestDial expects the old hook to open connections, and those for TLS and proxies to have no effect.
func TestDial(t *testing.T) {
	var dials atomic.Int64
	refused := errors.New("must not be called")
	base := &http.Transport{
		Dial: func(network, addr string) (net.Conn, error) { //nolint:staticcheck // programs still set it
			dials.Add(1)
			return new(net.Dialer).DialContext(context.Background(), network, addr)
		},
		DialTLS:               func(string, string) (net.Conn, error) { return nil, refused }, //nolint:staticcheck // as above
		DialTLSContext:        func(context.Context, string, string) (net.Conn, error) { return nil, refused },
		Proxy:                 func(*http.Request) (*url.URL, error) { return nil, refused },
		GetProxyConnectHeader: func(context.Context, *url.URL, string) (http.Header, error) { return nil, refused },
		TLSClientConfig:       &tls.Config{ServerName: "wrong", MinVersion: tls.VersionTLS13},
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{"h2": nil},
		ForceAttemptHTTP2:     true, Protocols: new(http.Protocols), MaxIdleConns: 1,
	}
	for name, p := range eachProtocol {
		if body, err := get(t, single(t, serve(t, named("a")), "", httpxds.WithProtocol(p), httpxds.WithBase(base)), "http://svc/"); !strings.HasPrefix(body, "a "+name[:6]) {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
	if dials.Load() != 2 {
		t.Errorf("%d calls of Dial; want one for each connection", dials.Load())
	}
	w, addr, upstream := tlsWorld(t)
	w.cluster("c", upstream("server.example"), addr)
	w.routes("%s", to("c"))
	if body, err := get(t, w.transport(httpxds.WithBase(base)), "http://svc/"); body != "tls HTTP/2.0" {
		t.Errorf("with TLS: %q, %v", body, err)
	}
}

// TestTLSHandshakeTimeout expects a limit of the handshake below that of the attempt to connect.
func TestTLSHandshakeTimeout(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // nobody answers
	check(t, err)
	defer l.Close()
	w, _, upstream := tlsWorld(t)
	w.cluster("c", upstream("server.example")+` connect_timeout { seconds: 60 }`, l.Addr().String())
	w.routes(`routes { match { prefix: "" } route { cluster: "c" timeout { seconds: 60 } } }`)
	base := &http.Transport{TLSHandshakeTimeout: 20 * time.Millisecond}
	_, err = get(t, w.transport(httpxds.WithBase(base)), "http://svc/")
	if e := (*httpxds.Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("%v; want the time limit of the handshake", err)
	}
}

// TestBaseOfNetHTTP expects the settings that net/http applies to single connections to have their effect.
func TestBaseOfNetHTTP(t *testing.T) {
	slow := make(chan struct{})
	defer close(slow)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			<-slow
		case "/large":
			w.Header().Set("X", strings.Repeat("x", 1<<16))
		case "/encoding":
			_, _ = fmt.Fprint(w, r.Header["Accept-Encoding"])
		default:
			read(w, r)
		}
	})
	for name, p := range eachProtocol {
		for _, tt := range []struct {
			setting, path, want string // "": the request fails
			base                *http.Transport
		}{
			{"ResponseHeaderTimeout", "/slow", "", &http.Transport{ResponseHeaderTimeout: 20 * time.Millisecond}},
			{"MaxResponseHeaderBytes", "/large", "", &http.Transport{MaxResponseHeaderBytes: 4096}},
			{"DisableCompression", "/encoding", "[]", &http.Transport{DisableCompression: true}},
			{"default", "/encoding", "[gzip]", new(http.Transport)},
			{"HTTP2", "/encoding", "[gzip]", &http.Transport{HTTP2: &http.HTTP2Config{MaxReadFrameSize: 1 << 20, StrictMaxConcurrentRequests: true}}},
			{"buffers", "/encoding", "[gzip]", &http.Transport{WriteBufferSize: 1 << 16, ReadBufferSize: 1 << 16}},
		} {
			body, err := get(t, single(t, addr, "", httpxds.WithProtocol(p), httpxds.WithBase(tt.base)), "http://svc"+tt.path)
			if body != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("%s, %s: %q, %v; want %q", name, tt.setting, body, err, tt.want)
			}
		}
	}
}

// TestExpectContinueTimeout expects a body to wait for the status 100, as long as the template says.
func TestExpectContinueTimeout(t *testing.T) {
	for name, p := range eachProtocol {
		var read atomic.Bool
		addr := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusExpectationFailed) })
		rt := single(t, addr, "", httpxds.WithProtocol(p), httpxds.WithBase(&http.Transport{ExpectContinueTimeout: time.Minute}))
		r, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://svc/", readHook{bytes.NewReader(make([]byte, 10)), func() { read.Store(true) }})
		check(t, err)
		r.Header.Set("Expect", "100-continue")
		r.Close = true
		resp, err := rt.RoundTrip(r)
		check(t, err)
		_ = resp.Body.Close()
		if read.Load() || resp.StatusCode != http.StatusExpectationFailed {
			t.Errorf("%s: status %d, and the body was read: %t; want 417 and an unread body", name, resp.StatusCode, read.Load())
		}
	}
}

// A readHook calls a function at each read.
type readHook struct {
	io.Reader
	f func()
}

// Read implements [io.Reader].
func (h readHook) Read(p []byte) (int, error) {
	h.f()
	return h.Reader.Read(p)
}
