package serve

import (
	"errors"
	"testing"

	"github.com/xdsforge/xdsforge/internal/adsserver"
)

// Requests that wait for the turn of their client are charged to it, and given back whatever becomes of them.
func TestWaitingRequestsAreCharged(t *testing.T) {
	limits, err := Limits{ClientBytes: 25_000}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{settings: settings{limits: limits}, accounts: accounts{clients: make(map[string]*account)}, guests: make(map[*guest]struct{})}
	g, err := s.admit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer g.first.Stop()
	failure := errors.New("malformed")
	for range 3 {
		handled := false
		err := g.Request(10_000, func() error {
			return g.Request(10_000, func() error { // another stream of the client
				var limit *adsserver.LimitError
				if err := g.Request(10_000, func() error { handled = true; return nil }); !errors.As(err, &limit) || limit.Option != "Limits.ClientBytes" || handled {
					t.Errorf("the third request returns %v, and is handled: %t; want the limit of the client", err, handled)
				}
				if err := g.Request(1000, func() error { return nil }); err != nil {
					t.Errorf("a small request returns %v", err)
				}
				return failure
			})
		})
		if !errors.Is(err, failure) {
			t.Errorf("the request returns %v, want %v", err, failure)
		}
	}
}
