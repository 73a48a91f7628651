package httpxds_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/httpxds"
)

// No request is lost while Listeners change, by either protocol: POST requests, which clients do not repeat.
func TestNoRequestIsLostWhileListenersChange(t *testing.T) {
	for _, p := range []protocol{http1, h2c} {
		t.Run(string(p), func(t *testing.T) {
			const changes, each = 30, 270
			s := newSite(t, http.HandlerFunc(echo), "", nil)
			s.listen(chain("g0", hosts(anyRoute)))
			s.serving("")
			ctx, stop := context.WithCancel(s.ctx)
			defer stop()
			var done atomic.Int64
			more := make(chan struct{}, 1)
			var workers sync.WaitGroup
			shared := p.client(t)
			for range 8 {
				c := shared
				if p == http1 {
					c = p.client(t)
				}
				workers.Go(func() {
					for ctx.Err() == nil {
						a, err := s.do(c, http.MethodPost, "/p")
						if err != nil || a.code != http.StatusOK || a.body != "/p hello" {
							t.Errorf("a request is lost: %d %q, %v", a.code, a.body, err)
						}
						done.Add(1)
						select {
						case more <- struct{}{}:
						default:
						}
					}
				})
			}
			for i := range changes {
				s.listen(chain(fmt.Sprintf("g%d", i+1), hosts(anyRoute)))
				for want := done.Load() + each; done.Load() < want || s.newest() != fmt.Sprintf("g%d", i+1); {
					select {
					case <-more:
					case <-s.ctx.Done():
						t.Fatal("the load stands still")
					}
				}
			}
			stop()
			workers.Wait()
			t.Logf("%d requests, %d changes", done.Load(), changes)
			if n := done.Load(); n < changes*each {
				t.Errorf("%d requests; want at least %d", n, changes*each)
			}
		})
	}
}

// newest returns the name of the filter chain in the newest generation.
func (s *site) newest() string {
	for _, g := range s.env.Servers()[0].Ports[0].Generations {
		for _, f := range g.FilterChains {
			return f.Name
		}
	}
	return ""
}

// generations returns the number of generations.
func (s *site) generations() int { return len(s.env.Servers()[0].Ports[0].Generations) }

// holding returns a handler whose requests of /held wait for release.
func holding() (h http.Handler, started chan struct{}, release func()) {
	started, held := make(chan struct{}, 10), make(chan struct{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			started <- struct{}{}
			select {
			case <-held:
			case <-r.Context().Done():
				return
			}
		}
		echo(w, r)
	}), started, sync.OnceFunc(func() { close(held) })
}

// A request of an old Listener continues. Its connection ends with the next response, and the generation with it.
func TestRequestsOfAnOldListenerContinue(t *testing.T) {
	for _, p := range []protocol{http1, h2c} {
		t.Run(string(p), func(t *testing.T) {
			h, started, release := holding()
			defer release()
			s := newSite(t, h, "", nil)
			s.listen(chain("one", hosts(anyRoute)))
			s.serving("")
			c, result := p.client(t), make(chan error, 1)
			go func() {
				a, err := s.do(c, http.MethodPost, "/held")
				if err == nil && a.body != "/held hello" {
					err = fmt.Errorf("status %d", a.code)
				}
				result <- err
			}()
			<-started
			s.listen(chain("two", hosts(anyRoute)))
			s.until("the new generation serves", func() bool { return s.newest() == "two" })
			if a := s.get("/"); a.code != http.StatusOK || s.generations() != 2 {
				t.Errorf("the new generation responds %d, with %d generations; want 200 and 2", a.code, s.generations())
			}
			release()
			check(t, <-result)
			s.until("the old generation ends with the next response", func() bool {
				_, err := s.do(c, http.MethodPost, "/")
				check(t, err)
				return s.generations() == 1
			})
		})
	}
}

// After the drain time, the server closes idle connections and those with requests.
func TestDrainTime(t *testing.T) {
	h, started, release := holding()
	defer release()
	s := newSite(t, h, "", nil, httpxds.WithDrainTime(50*time.Millisecond))
	s.listen(chain("one", hosts(anyRoute)))
	s.serving("")
	idle := http1.client(t)
	if _, err := s.do(idle, http.MethodGet, "/"); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	busy := http1.client(t)
	go func() {
		_, err := s.do(busy, http.MethodPost, "/held")
		result <- err
	}()
	<-started
	s.listen(chain("two", hosts(anyRoute)))
	if err := <-result; err == nil {
		t.Error("a request continues after the drain time")
	}
	s.until("the idle connection is closed too", func() bool { return s.generations() == 1 })
}

// Shutdown waits for requests, and does not wait for idle connections.
func TestShutdown(t *testing.T) {
	for _, p := range []protocol{http1, h2c} {
		t.Run(string(p), func(t *testing.T) {
			h, started, release := holding()
			defer release()
			s := newSite(t, h, "", nil)
			s.listen(chain("one", hosts(anyRoute)))
			s.serving("")
			idle := p.client(t)
			if _, err := s.do(idle, http.MethodGet, "/"); err != nil {
				t.Fatal(err)
			}
			busy, result, down := p.client(t), make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := s.do(busy, http.MethodPost, "/held")
				result <- err
			}()
			<-started
			expired, cancel := context.WithCancel(s.ctx)
			cancel()
			if err := s.Shutdown(expired); err == nil {
				t.Error("Shutdown returns no error although its context has ended before the request")
			}
			check(t, <-s.served)
			s.served <- nil // for the end of the test
			go func() { down <- s.Shutdown(s.ctx) }()
			release()
			check(t, <-result)
			check(t, <-down)
			if err := s.Serve(unixListener{}); err == nil {
				t.Error("Serve after Shutdown returns no error")
			}
			if n := len(s.env.Servers()); n != 0 {
				t.Errorf("the Env has %d servers after Shutdown; want 0", n)
			}
		})
	}
}
