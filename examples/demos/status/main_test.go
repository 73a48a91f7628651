package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The program serves its state after the last chapter, and ends without an error when it is interrupted.
func TestTheSourcesAgree(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, w, "127.0.0.1:0")
		_ = w.CloseWithError(err)
		ended <- err
	}()
	var out strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if _, rest, ok := strings.Cut(lines.Text(), "http://"); ok {
			address, _, _ := strings.Cut(rest, " ")
			checkDebug(t, "http://"+address)
			cancel()
		}
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"resources in use: 4", "servers that serve: 1", "endpoints ejected: 1", "Clusters of the channel rejected: 1",
		"Listeners of the server rejected: 1", "clients that lost the first control plane: 3", "clients that use the second one: 1",
		"clients connected to the first control plane: 3", "channels that returned from the second one: 1", "rejected resources: 0", "The status page reports ", "the log agree",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
}

// checkDebug reads the state over HTTP.
func checkDebug(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var state struct{ Clients, Targets, Servers []any }
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	if len(state.Clients) != 3 || len(state.Targets) != 2 || len(state.Servers) != 1 {
		t.Errorf("the page has %d clients, %d targets and %d servers; want 3, 2 and 1", len(state.Clients), len(state.Targets), len(state.Servers))
	}
}

func TestTheStoryEndsWithItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if err := run(ctx, &out, ""); err == nil || strings.Contains(out.String(), "the log agree") {
		t.Errorf("error = %v; want an error, because the time is over", err)
	}
}

// The state is served on loopback only.
func TestDebugIsOnLoopback(t *testing.T) {
	s := new(stage)
	for _, address := range []string{"0.0.0.0:0", "[::]:0", "localhost:0", ""} {
		if err := s.serveDebug(t.Context(), address); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("-debug = %q: %v; want an error about loopback", address, err)
		}
	}
}

// One source that reports another number is an error that has all numbers.
func TestSourcesThatDisagree(t *testing.T) {
	says := func(name string, n int) source {
		return source{name, func(*view) finding { return finding{count: n} }}
	}
	rows := []row{{"calls", 2, []source{says("a", 2), says("b", 2)}}, {"drops", 1, []source{says("a", 1), says("b", 3)}}}
	if err := check(nil, rows[:1]); err != nil {
		t.Errorf("equal numbers: %v", err)
	}
	err := check(nil, rows)
	if !errors.Is(err, errDisagree) || !strings.Contains(err.Error(), "drops: ") || !strings.Contains(err.Error(), "a says 1, b says 3; want 1") {
		t.Errorf("error = %v", err)
	}
}
