package grpcxds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
)

// randomChains returns a default filter chain and others that match at random. A call with the header "chain" succeeds only on the
// filter chain with that number.
func randomChains(r *rand.Rand) (text string, count int) {
	some := func(parts ...string) string { return parts[r.IntN(len(parts))] }
	prefix := func(field, address string, length int) string {
		return fmt.Sprintf(`%s { address_prefix: %q prefix_len { value: %d } } `, field, address, length)
	}
	manager := func(i int) string {
		return network(inline(fmt.Sprintf(`routes { match { prefix: "" headers { name: "chain" string_match { exact: "%d" } } } non_forwarding_action {} }`, i)))
	}
	seen := make(map[string]bool) // two chains with one match are an error
	var b strings.Builder
	for range 1 + r.IntN(5) {
		match := some("", prefix("prefix_ranges", "127.0.0.1", 32), prefix("prefix_ranges", "127.9.9.9", 8), prefix("prefix_ranges", "10.0.0.0", 8)) +
			some("", "source_type: SAME_IP_OR_LOOPBACK ", "source_type: EXTERNAL ") +
			some("", prefix("source_prefix_ranges", "127.0.0.2", 32), prefix("source_prefix_ranges", "127.0.0.3", 31), prefix("source_prefix_ranges", "192.168.0.0", 16)) +
			some("", "", `transport_protocol: "raw_buffer" `, `transport_protocol: "tls" `) + some("", "", "", `application_protocols: "h2" `)
		if seen[match] {
			continue
		}
		seen[match] = true
		fmt.Fprintf(&b, `filter_chains { name: "%d" filter_chain_match { %s } %s } `, count, match, manager(count))
		count++
	}
	fmt.Fprintf(&b, `default_filter_chain { name: "default" %s } `, manager(count))
	return b.String(), count + 1
}

// chainOf returns the number of the filter chain of connections from an address, or -1.
func (s *site) chainOf(from string, count int) int {
	s.Helper()
	cc := s.channel(grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp4", addr)
	}))
	defer cc.Close()
	for i := range count {
		ctx := metadata.AppendToOutgoingContext(s.ctx, "chain", fmt.Sprint(i))
		if cc.Invoke(ctx, "/grpc.testing.TestService/EmptyCall", &testpb.Empty{}, &testpb.Empty{}) == nil {
			return i
		}
	}
	return -1
}

// Connections have the filter chain that grpc-go's server chooses for them.
func TestFilterChainsOfGRPC(t *testing.T) {
	w := newWorld(t)
	listen := func() net.Listener {
		lis, err := (&net.ListenConfig{}).Listen(w.ctx, "tcp4", "0.0.0.0:0") // of another address, grpc-go ignores prefix_ranges
		if err != nil {
			t.Fatal(err)
		}
		return lis
	}
	chains := make(map[int]int)
	for seed := range uint64(25) {
		text, count := randomChains(rand.New(rand.NewPCG(seed, 43)))
		sites := []*site{w.serveOn(listen(), nil), w.serveGRPCOn(listen(), w.config)}
		for _, s := range sites {
			w.publishListener(fmt.Sprintf(`name: %q address { socket_address { address: "0.0.0.0" port_value: %d } } %s`, s.name, s.port, text))
			s.awaitServing()
			s.addr = fmt.Sprint("127.0.0.1:", s.port)
		}
		for _, from := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"} {
			ours, theirs := sites[0].chainOf(from, count), sites[1].chainOf(from, count)
			if ours != theirs {
				t.Errorf("seed %d: a connection from %s has the filter chain %d; that of grpc-go is %d: %s", seed, from, ours, theirs, text)
			}
			chains[ours]++
		}
	}
	if len(chains) < 4 {
		t.Errorf("connections have the filter chains %v; want more different ones", chains)
	}
	t.Logf("75 connections have the filter chains %v", chains)
}

// Stops of both kinds at the same time, during updates and calls, all return, and leave no listener.
func TestStopsDuringUpdates(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		s := w.serve()
		w.publishListener(s.listener(inline(anyRoute)))
		s.awaitServing()
		c := s.dial()
		ends := make(chan string)
		for name, f := range map[string]func(){
			"Stop": s.Stop, "GracefulStop": s.GracefulStop, "a call": func() { s.call(c) },
			"an update": func() {
				s.publishListener(s.listener(inline(`name: "again" ` + anyRoute)))
			},
		} {
			go func() {
				f()
				ends <- name
			}()
		}
		left := map[string]bool{"Stop": true, "GracefulStop": true, "a call": true, "an update": true}
		for len(left) > 0 {
			select {
			case name := <-ends:
				delete(left, name)
			case <-s.ctx.Done():
				t.Fatalf("round %d: %v do not end", i, left)
			}
		}
		if st := s.call(c); st.Code() != codes.Unavailable {
			t.Errorf("round %d: a call after the stops: %v; want UNAVAILABLE", i, st)
		}
	}
}
