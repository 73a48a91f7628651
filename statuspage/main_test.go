package statuspage_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge/statuspage"
	"github.com/xdsforge/xdsforge/statuspage/internal/scene"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a scene with its pages.
type world struct {
	*testing.T
	scene   *scene.Scene
	handler http.Handler
}

func newWorld(t *testing.T, resources int) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := scene.Start(ctx, resources)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{t, s, statuspage.Handler(s.Env)}
}

// play brings the scene into a state.
func (w *world) play(step string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	if err := w.scene.Play(ctx, step); err != nil {
		w.Fatal(err)
	}
}

// request answers a request for a page.
func (w *world) request(accept, view string, params ...string) *httptest.ResponseRecorder {
	w.Helper()
	return get(w.handler, accept, view, params...)
}

func get(h http.Handler, accept, view string, params ...string) *httptest.ResponseRecorder {
	v := make(url.Values)
	for i := 0; i+1 < len(params); i += 2 {
		v.Add(params[i], params[i+1])
	}
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/debug/xds/"+view+"?"+v.Encode(), http.NoBody)
	r.Header.Set("Accept", accept)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

const (
	asHTML = "text/html,application/xhtml+xml,*/*;q=0.8"
	asJSON = "application/json"
)

// html returns a page.
func (w *world) html(view string, params ...string) string {
	w.Helper()
	rec := w.request(asHTML, view, params...)
	if rec.Code != http.StatusOK {
		w.Fatalf("page %q %q: status %d: %s", view, params, rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// json decodes the JSON of a page.
func (w *world) json(out any, view string, params ...string) {
	w.Helper()
	rec := w.request(asJSON, view, params...)
	if rec.Code != http.StatusOK || !strings.HasPrefix(rec.Header().Get("Content-Type"), asJSON) {
		w.Fatalf("JSON of %q %q: status %d, %s", view, params, rec.Code, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), out); err != nil {
		w.Fatalf("JSON of %q: %v", view, err)
	}
}

// await waits until a condition holds.
func (w *world) await(what string, ok func() bool) {
	w.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			w.Fatalf("%s: does not happen", what)
		}
	}
}

// health is the part of the overview's JSON that tests read.
type health struct {
	Health struct {
		State    string
		Problems []struct{ Level, Text, Type, Name, ControlPlane, NodeID, Version, Client string }
	}
	Clients []struct {
		ID, Scope             string
		Valid, Waiting, Level any
	}
	Targets []struct{ Target, State string }
	Servers []struct {
		Ports []struct{ Address, Mode string }
	}
	Events []struct{ Event struct{ Kind string } }
}

func (w *world) health() (h health) {
	w.Helper()
	w.json(&h, "")
	return h
}

const (
	checkout = "1.1.xds:///checkout.example"
	payments = "1.1.xds:///payments.example"
)
