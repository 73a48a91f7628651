package transport_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// Errors of one kind are equal, even after the client has escaped their texts.
func TestErrorsOfOneKindAreTheSameTrouble(t *testing.T) {
	a := printable.Error(&transport.Error{Kind: "Unavailable", Text: "port 1\nrefused"})
	b := printable.Error(&transport.Error{Kind: "Unavailable", Text: "port 2\nrefused"})
	other := printable.Error(&transport.Error{Kind: "NoStream", Text: "port 1\nrefused"})
	if !errors.Is(a, b) || !errors.Is(fmt.Errorf("again: %w", a), b) {
		t.Errorf("errors.Is(%v, %v) = false, want true", a, b)
	}
	if errors.Is(a, other) || errors.Is(a, errors.New("port 1")) {
		t.Errorf("%v is an error of another kind", a)
	}
}
