package transport

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestError(t *testing.T) {
	plain := &Error{Kind: "UNAVAILABLE", Text: "port 1"}
	if got := plain.Error(); got != "UNAVAILABLE: port 1" {
		t.Errorf("error = %q, want its kind and its text", got)
	}
	if plain.Unwrap() != nil {
		t.Errorf("an error without a cause has %v", plain.Unwrap())
	}
	caused := &Error{Kind: "CANCELED", Text: "port 2", Cause: context.Canceled}
	if got := caused.Error(); got != "context canceled: port 2" {
		t.Errorf("error = %q, want its cause and its text", got)
	}
	wrapped := fmt.Errorf("stream: %w", caused)
	for target, want := range map[error]bool{
		context.Canceled:                        true,
		&Error{Kind: "CANCELED", Text: "other"}: true,
		&Error{Kind: "UNAVAILABLE"}:             false,
		ErrUnimplemented:                        false,
	} {
		if errors.Is(wrapped, target) != want {
			t.Errorf("errors.Is(%v, %v) = %v, want %v", wrapped, target, !want, want)
		}
	}
	if errors.Is(plain, caused) || !errors.Is(plain, &Error{Kind: "UNAVAILABLE"}) {
		t.Error("want errors of the same kind alone to be the same")
	}
}
