package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/netproxy"
)

var e2eScenarios = map[string]func(*e2e){
	"watching":     (*e2e).watching,
	"removal":      (*e2e).removal,
	"rejection":    (*e2e).rejection,
	"cut":          (*e2e).cut,
	"half-close":   (*e2e).halfClose,
	"stall down":   (*e2e).stallDown,
	"stall up":     (*e2e).stallUp,
	"delay":        (*e2e).delay,
	"unreachable":  (*e2e).unreachable,
	"restart":      (*e2e).restart,
	"churn":        (*e2e).churn,
	"resubscribed": (*e2e).resubscribed,
}

func (e *e2e) watching() {
	spots, fs := e.started()
	e.set(spots, "2")
	e.values(fs, "2")
	more := e.spots("b")
	e.set(more, "b")
	e.values(e.follow(more), "b")
	for i, s := range e.servers {
		if r := s.Rejections(); len(r) > 0 {
			e.t.Errorf("server %d: rejections %q", i, r)
		}
		if n, d := len(s.Requests()), len(s.DeltaRequests()); (n > 0) == e.delta && n+d > 0 {
			e.t.Errorf("server %d: %d requests of the state of the world, %d incremental", i, n, d)
		}
	}
	if e.fallsBack() && e.servers[1].Streams() > 0 {
		e.t.Error("the second server got requests although the first one is reachable")
	}
}

func (e *e2e) removal() {
	spots, fs := e.started()
	for _, s := range spots {
		if err := e.servers[s.server].Delete(clusterName, s.name); err != nil {
			e.t.Fatal(err)
		}
	}
	for _, f := range fs {
		f.ambient(resource.ErrRemoved)
	}
	e.set(spots, "2")
	e.values(fs, "2")
}

func (e *e2e) rejection() {
	spots, fs := e.started()
	for _, s := range spots {
		bad := cluster(s.name, "2")
		bad.LbPolicy = 5 // MAGLEV
		set(e.t, e.servers[s.server], s.name, bad)
	}
	for _, f := range fs {
		f.ambient(resource.ErrInvalid)
	}
	others := e.spots("b")
	e.set(others, "b")
	e.values(e.follow(others), "b")
	e.set(spots, "3")
	e.values(fs, "3")
}

// A connection that breaks after a response causes no error for watchers (gRFC A57). Changes from
// that time arrive later.
func (e *e2e) cut() {
	spots, fs := e.started()
	for n := range 3 {
		e.eachProxy((*netproxy.Proxy).Disconnect)
		tag := "cut " + strconv.Itoa(n)
		e.set(spots, tag)
		for _, f := range fs {
			u, err := f.until(tag, func(u *update, err error) bool { return err != nil || u.tag == tag })
			if err != nil {
				e.t.Errorf("%v: the watcher got the error %v", u, err)
			}
		}
	}
}

func (e *e2e) halfClose() {
	spots, fs := e.started()
	for _, d := range []netproxy.Direction{netproxy.Up, netproxy.Down} {
		e.eachProxy(func(p *netproxy.Proxy) { p.HalfClose(d) })
		tag := fmt.Sprint("closed ", d)
		e.set(spots, tag)
		e.values(fs, tag)
	}
}

func (e *e2e) stallDown() {
	spots, fs := e.started()
	e.eachProxy(func(p *netproxy.Proxy) { p.Stall(netproxy.Down) })
	e.set(spots, "2")
	others := e.spots("b")
	e.set(others, "b")
	late := e.follow(others)
	e.nothing(late)
	e.eachProxy(func(p *netproxy.Proxy) { p.Resume(netproxy.Down) })
	e.values(fs, "2")
	e.values(late, "b")
}

// The client reads responses even while it cannot send.
func (e *e2e) stallUp() {
	spots, fs := e.started()
	e.eachProxy(func(p *netproxy.Proxy) { p.Stall(netproxy.Up) })
	others := e.spots("b")
	e.set(others, "b")
	late := e.follow(others)
	e.set(spots, "2")
	e.nothing(late)
	e.eachProxy(func(p *netproxy.Proxy) { p.Resume(netproxy.Up) })
	e.values(fs, "2")
	e.values(late, "b")
}

// nothing expects no state for a short time.
func (e *e2e) nothing(fs []*follower) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, 50*time.Millisecond)
	defer cancel()
	for _, f := range fs {
		if s, err := f.o.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			e.t.Errorf("Next = %v, %v; want nothing while the network stalls", s, err)
		}
	}
}

func (e *e2e) delay() {
	e.eachProxy(func(p *netproxy.Proxy) {
		p.Delay(netproxy.Up, 20*time.Millisecond)
		p.Delay(netproxy.Down, 30*time.Millisecond)
	})
	spots, fs := e.started()
	e.set(spots, "2")
	e.values(fs, "2")
	e.eachProxy(func(p *netproxy.Proxy) { p.Delay(netproxy.Down, 0) })
	e.set(spots, "3")
	e.values(fs, "3")
}

// The first server is unreachable. Cached resources stay. Others fail, or come from the next server
// until the first one is reachable again (gRFC A71).
func (e *e2e) unreachable() {
	spots, fs := e.started()
	others := e.spots("b")
	e.set(others, "first")
	if e.fallsBack() {
		set(e.t, e.servers[1], "a", cluster("a", "second"))
		set(e.t, e.servers[1], "b", cluster("b", "second"))
	}
	down := func(f func(*netproxy.Proxy)) {
		for i, p := range e.proxies {
			if i == 0 || !e.fallsBack() {
				f(p)
			}
		}
	}
	down((*netproxy.Proxy).Refuse)
	down((*netproxy.Proxy).Disconnect)
	for _, f := range fs {
		f.ambient(resource.ErrTransport)
	}
	late := e.follow(others)
	if e.fallsBack() {
		e.values(late, "second")
		e.values(fs, "second")
	} else {
		for _, f := range late {
			f.failed(resource.ErrTransport)
		}
	}
	down((*netproxy.Proxy).Accept)
	e.values(late, "first")
	e.values(fs, "1")
	e.set(spots, "2")
	e.values(fs, "2")
	if e.fallsBack() {
		set(e.t, e.servers[1], "a", cluster("a", "too late"))
		e.set(spots, "3")
		_, _ = fs[0].until("3", func(u *update, err error) bool {
			if u != nil && u.tag == "too late" {
				e.t.Error("an update of the second server is in use although the first one is reachable again")
			}
			return err == nil && u.tag == "3"
		})
	}
}

func (e *e2e) restart() {
	spots, fs := e.started()
	e.servers[0].Stop()
	for _, s := range spots {
		if s.server == 0 {
			f := fs[0]
			f.ambient(resource.ErrTransport)
			break
		}
	}
	e.set(spots, "2")
	if err := e.servers[0].Restart(); err != nil {
		e.t.Fatal(err)
	}
	e.values(fs, "2")
}

// After random faults, every watcher has the last value.
func (e *e2e) churn() {
	spots, fs := e.started()
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 30 {
		e.set(spots, strconv.Itoa(n))
		p := e.proxies[rng.IntN(len(e.proxies))]
		switch rng.IntN(5) {
		case 0:
			p.Disconnect()
		case 1:
			p.HalfClose(netproxy.Direction(rng.IntN(2)))
		case 2:
			p.Stall(netproxy.Direction(rng.IntN(2)))
		case 3:
			p.Resume(netproxy.Up)
			p.Resume(netproxy.Down)
		case 4:
			p.Delay(netproxy.Down, time.Duration(rng.IntN(5))*time.Millisecond)
		}
		follow(e.ctx, e.t, e.client, clusters, fmt.Sprint("passing ", n)).o.Stop()
	}
	e.eachProxy(func(p *netproxy.Proxy) {
		p.Resume(netproxy.Up)
		p.Resume(netproxy.Down)
	})
	e.set(spots, "last")
	e.values(fs, "last")
}

// If a name is unsubscribed and subscribed again at once, the control plane sends it again,
// although it has recorded that the client has it.
func (e *e2e) resubscribed() {
	spots, fs := e.started()
	e.follow(e.spots("other")) // keeps the type subscribed to
	for range 10 {
		for i, s := range spots {
			fs[i].o.Stop()
			fs[i] = follow(e.ctx, e.t, e.client, clusters, s.name)
		}
		e.values(fs, "1")
	}
}
