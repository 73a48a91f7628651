package main

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/statefulsession"
)

// A customer has a session, and the name of its server.
type customer struct {
	session statefulsession.Session
	server  string
}

// call makes a call of the customer's session. An error names a server that is not that of the session.
func (s *stage) call(ctx context.Context, c *customer) error {
	answer := new(wrapperspb.StringValue)
	if err := s.conn.Invoke(c.session.Join(ctx), "/shop.Basket/Add", wrapperspb.String("tea"), answer); err != nil {
		return err
	}
	if c.server != "" && c.server != answer.GetValue() {
		return fmt.Errorf("a session on %s was sent to %s", c.server, answer.GetValue())
	}
	c.server = answer.GetValue()
	return nil
}

// begin begins a session.
func (s *stage) begin(ctx context.Context) (*customer, error) {
	c := new(customer)
	err := s.call(ctx, c)
	return c, err
}

// all makes calls of all sessions.
func (s *stage) all(ctx context.Context, calls int) error {
	for range calls {
		for _, c := range s.sessions {
			if err := s.call(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// on returns the sessions of a server.
func (s *stage) on(server string) []*customer {
	var on []*customer
	for _, c := range s.sessions {
		if c.server == server {
			on = append(on, c)
		}
	}
	return on
}

// awaitNew begins sessions until one is on the server. It makes calls of all other sessions meanwhile.
func (s *stage) awaitNew(ctx context.Context, server string) error {
	for {
		if err := s.all(ctx, 1); err != nil {
			return err
		}
		if c, err := s.begin(ctx); err != nil || c.server == server {
			return err
		}
	}
}

// stay begins ten sessions on each of two servers. They stay there.
func (s *stage) stay(ctx context.Context) error {
	s.Chapter("Sessions begin on two servers, and stay there")
	for len(s.sessions) < 20 {
		c, err := s.begin(ctx)
		if err != nil {
			return err
		}
		if len(s.on(c.server)) < 10 {
			s.sessions = append(s.sessions, c)
		}
	}
	if err := s.all(ctx, 20); err != nil {
		return err
	}
	s.Seen("%d sessions are on server one and %d on server two; 400 calls stayed on theirs", len(s.on("one")), len(s.on("two")))
	return nil
}

// drain marks server one as draining.
func (s *stage) drain(ctx context.Context) error {
	s.Chapter("Server one drains: its sessions stay, and new ones avoid it")
	if err := s.publishShop("DRAINING"); err != nil {
		return err
	}
	for fresh := 0; fresh < 20; { // in a row on server two
		if err := s.all(ctx, 1); err != nil {
			return err
		}
		c, err := s.begin(ctx)
		if err != nil {
			return err
		}
		fresh++
		if c.server == "one" {
			fresh = 0 // the update has not arrived
		}
	}
	if err := s.all(ctx, 10); err != nil {
		return err
	}
	s.Seen("20 new sessions in a row began on server two; %d old ones stay on server one", len(s.on("one")))
	return nil
}

// reroute sends half of the new sessions to another cluster.
func (s *stage) reroute(ctx context.Context) error {
	s.Chapter("The routes change under calls: old sessions keep their cluster, and new ones spread")
	if err := s.publishRoutes("shop", "canary"); err != nil {
		return err
	}
	if err := s.awaitNew(ctx, "three"); err != nil {
		return err
	}
	if err := s.all(ctx, 10); err != nil {
		return err
	}
	counts := make(map[string]int)
	for range 100 {
		c, err := s.begin(ctx)
		if err != nil {
			return err
		}
		counts[c.server]++
	}
	if counts["two"] == 0 || counts["three"] == 0 || counts["one"] > 0 {
		return fmt.Errorf("100 new sessions went to %v; want them on servers two and three", counts)
	}
	s.Seen("of 100 new sessions, %d began on server two and %d on server three of the new cluster; no old one moved", counts["two"], counts["three"])
	return nil
}

// remove removes server one. Its sessions get another server, and stay there.
func (s *stage) remove(ctx context.Context) error {
	s.Chapter("Server one is removed: its sessions move once")
	moved := s.on("one")
	if err := s.publishShop(""); err != nil {
		return err
	}
	for _, c := range moved {
		if err := s.move(ctx, c); err != nil {
			return err
		}
	}
	if err := s.all(ctx, 10); err != nil {
		return err
	}
	s.Seen("%d sessions moved to server two of their cluster, and stay there", len(moved))
	return nil
}

// move makes calls of a session on server one until it is on another one of its cluster.
func (s *stage) move(ctx context.Context, c *customer) error {
	for c.server == "one" {
		c.server = ""
		if err := s.call(ctx, c); err != nil {
			return err
		}
	}
	if c.server != "two" {
		return fmt.Errorf("a session moved from server one to server %s; want server two", c.server)
	}
	return nil
}
