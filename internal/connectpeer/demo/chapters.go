package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// split measures the shares of two clusters.
func (s *stage) split(ctx context.Context) error {
	s.Chapter("A split of 80 to 20")
	const requests = 1000
	for range requests {
		if _, err := s.get(ctx, "/split"); err != nil {
			return err
		}
	}
	n := s.canary.requests.Load()
	if n < 130 || n > 270 { // more than five standard deviations
		return fmt.Errorf("the canary has %d of %d requests; want about 200", n, requests)
	}
	s.Seen("of %d requests, the canary has %d", requests, n)
	return nil
}

// rewrite follows a rewritten path and a redirect.
func (s *stage) rewrite(ctx context.Context) error {
	s.Chapter("A rewrite, and a redirect")
	resp, body, err := s.send(ctx, http.MethodGet, "/old/shoes", nil)
	if err != nil {
		return err
	}
	if body != "stable: GET /new/shoes " || resp.Header.Get("X-Rewritten") != "yes" {
		return fmt.Errorf("/old/shoes returns %q with the headers %v", body, resp.Header)
	}
	s.Seen("/old/shoes is /new/shoes for the backend, and the response has the header of the route")
	resp, _, err = s.send(ctx, http.MethodGet, "/moved/hat", nil)
	if err != nil {
		return err
	}
	if to := resp.Header.Get("Location"); resp.StatusCode != http.StatusMovedPermanently || !strings.HasSuffix(to, "/new/hat") {
		return fmt.Errorf("/moved/hat returns %d with the location %q", resp.StatusCode, to)
	}
	s.Seen("/moved/hat is redirected to %s by the server itself", resp.Header.Get("Location"))
	return nil
}

// connect calls a method of Connect, whose attempts fail in turn.
func (s *stage) connect(ctx context.Context) error {
	s.Chapter("Connect, with retries by its codes")
	idempotent := connect.WithIdempotency(connect.IdempotencyNoSideEffects)
	for _, c := range []struct {
		name   string
		client *connect.Client[text, text]
	}{
		// A proxy passes on the body of a POST while it receives it, and cannot send it twice. GET has no body.
		{"through the proxy, by GET", connect.NewClient[text, text](&http.Client{Transport: s.http}, "http://"+s.addr+greet, connect.WithHTTPGet(), idempotent)},
		{"without the proxy, by POST", connect.NewClient[text, text](&http.Client{Transport: s.transport}, "http://shop"+greet)},
	} {
		before := s.greeter.requests.Load()
		resp, err := c.client.CallUnary(ctx, connect.NewRequest(wrapperspb.String("shop")))
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if n := s.greeter.requests.Load() - before; n != 2 || resp.Msg.GetValue() != "Hello, shop!" {
			return fmt.Errorf("%s: %q after %d attempts; want a greeting after 2", c.name, resp.Msg.GetValue(), n)
		}
		s.Seen("%s: %q, after one attempt with the code unavailable", c.name, resp.Msg.GetValue())
	}
	return nil
}

// failover kills the first priority under load.
func (s *stage) failover(ctx context.Context) error {
	s.Chapter("The first priority dies")
	const after = 200
	before := s.standby.requests.Load()
	if before != 0 {
		return fmt.Errorf("the standby has %d requests before the first priority fails; want none", before)
	}
	failed, total, err := s.load(ctx, http.MethodGet, "/any", func(sent func() int64) error {
		s.stable.stop()
		start := sent()
		return story.Until(ctx, func() bool { return sent() > start+after })
	})
	if err != nil {
		return err
	}
	if failed > 0 || s.standby.requests.Load() == 0 {
		return fmt.Errorf("%d of %d requests failed, and the standby has %d; want no failure", failed, total, s.standby.requests.Load())
	}
	s.Seen("the standby has taken over, and none of %d requests has failed: the route retries", total)
	return nil
}

// rules sends requests that RBAC denies.
func (s *stage) rules(ctx context.Context) error {
	s.Chapter("Who may send what: RBAC")
	for _, r := range []struct {
		path, user string
		want       int
	}{
		{"/admin/users", "", http.StatusForbidden},
		{"/%61dmin/users", "", http.StatusForbidden},
		{"/public/../admin", "", http.StatusForbidden},
		{"/admin/users", "root", http.StatusOK},
		{"/public", "", http.StatusOK},
	} {
		resp, _, err := s.send(ctx, http.MethodGet, r.path, map[string]string{"X-User": r.user})
		if err != nil {
			return err
		}
		if resp.StatusCode != r.want {
			return fmt.Errorf("%s of %q returns %d; want %d", r.path, r.user, resp.StatusCode, r.want)
		}
		s.Line("%d %-18s %s", resp.StatusCode, r.path, r.user)
	}
	s.Seen("only root may use /admin, in whatever form the path is written")
	return nil
}

// limits spends the tokens of a route, under two Listeners.
func (s *stage) limits(ctx context.Context) error {
	s.Chapter("A local rate limit")
	status := func() (int, error) {
		resp, _, err := s.send(ctx, http.MethodGet, "/limited", nil)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, nil
	}
	for i := range tokens + 1 {
		want := http.StatusOK
		if i == tokens {
			want = http.StatusTooManyRequests
		}
		if got, err := status(); err != nil || got != want {
			return fmt.Errorf("request %d returns %d, %w; want %d", i+1, got, story.OrNone(err), want)
		}
	}
	s.Seen("%d requests pass, and the next one gets 429", tokens)
	if err := s.change(ctx, "two"); err != nil {
		return err
	}
	if got, err := status(); err != nil || got != http.StatusTooManyRequests {
		return fmt.Errorf("under the new Listener, a request returns %d, %w; want 429", got, story.OrNone(err))
	}
	s.Seen("the spent tokens stay spent under a new Listener")
	return nil
}

// drain changes the Listener several times under load.
func (s *stage) drain(ctx context.Context) error {
	s.Chapter("Five Listeners, under load")
	const changes = 5
	s.http.CloseIdleConnections()
	if err := s.drained(ctx); err != nil {
		return err
	}
	failed, total, err := s.load(ctx, http.MethodPost, "/any", func(sent func() int64) error {
		for i := range changes {
			start := sent()
			if err := s.change(ctx, fmt.Sprintf("under load %d", i)); err != nil {
				return err
			}
			if err := story.Until(ctx, func() bool { return sent() > start+100 }); err != nil {
				return err
			}
		}
		return s.drained(ctx)
	})
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d requests failed; want none", failed, total)
	}
	s.Seen("none of %d POST requests is lost, and all connections of the old Listeners are closed", total)
	return nil
}

// darkness stops both control planes.
func (s *stage) darkness(ctx context.Context) error {
	s.Chapter("No control plane at all")
	s.east.Stop()
	s.west.Stop()
	body, err := s.get(ctx, "/any")
	if err != nil {
		return err
	}
	s.Quote("GET /any:", body)
	s.Seen("the proxy serves with its last configuration")
	return errors.Join(s.east.Restart(), s.west.Restart()) //nolint:contextcheck // they end with Stop
}

// stop shuts the server down.
func (s *stage) stop(ctx context.Context) error {
	s.Chapter("The end")
	if err := s.server.Shutdown(ctx); err != nil {
		return err
	}
	select {
	case err := <-s.served:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	s.Seen("Shutdown has waited for all requests, and Serve has returned")
	return nil
}

// load sends requests from four clients while f runs. It returns the numbers of failed and of all requests.
func (s *stage) load(ctx context.Context, method, path string, f func(sent func() int64) error) (failed, total int64, err error) {
	var fails, sent atomic.Int64
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				resp, _, err := s.send(ctx, method, path, nil)
				if err != nil || resp.StatusCode != http.StatusOK {
					fails.Add(1)
				}
				sent.Add(1)
			}
		})
	}
	err = f(sent.Load)
	close(over)
	clients.Wait()
	return fails.Load(), sent.Load(), err
}

// get returns the body of a response with the status 200.
func (s *stage) get(ctx context.Context, path string) (string, error) {
	resp, body, err := s.send(ctx, http.MethodGet, path, nil)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, resp.Status, body)
	}
	return body, err
}

// send sends a request to the proxy, without following redirects.
func (s *stage) send(ctx context.Context, method, path string, headers map[string]string) (*http.Response, string, error) {
	var content io.Reader = http.NoBody
	if method == http.MethodPost {
		content = strings.NewReader("order")
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr, content)
	if err != nil {
		return nil, "", err
	}
	r.URL.Opaque = "//" + s.addr + path // so that the client sends the path as it is
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	resp, err := s.http.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// change publishes another Listener, and waits until the server uses it for new connections.
func (s *stage) change(ctx context.Context, version string) error {
	last := s.generations()[0].Created
	if err := s.setListener(version); err != nil {
		return err
	}
	return story.Until(ctx, func() bool { return s.generations()[0].Created != last })
}

// generations returns the Listeners that have connections or can get them, the newest first.
func (s *stage) generations() []dataplane.Generation { return s.env.Servers()[0].Ports[0].Generations }

// drained waits until the connections of all old Listeners are closed.
func (s *stage) drained(ctx context.Context) error {
	return story.Until(ctx, func() bool { return len(s.generations()) == 1 })
}
