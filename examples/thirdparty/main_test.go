package main

import (
	"bytes"
	"context"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, &out); err != nil {
		t.Fatal(err)
	}
	const want = `50 calls in a second; then ratelimit.Reject{RetryAfter:0}
publish: "acme.ratelimit.v1.Policy" "checkout": limit.per_second = 0; must be at least 1
80 calls in a second; then ratelimit.Overflow{Cluster:"spare"}
`
	if got := out.String(); got != want {
		t.Errorf("the program prints\n%s\nwant\n%s", got, want)
	}
}
