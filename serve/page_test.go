package serve_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/serve"
)

func get(h http.Handler, target, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	r.Host = "127.0.0.1:1"
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// The page shows sources, clients and rejections as HTML and as JSON, and escapes texts of clients.
func TestStatusPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, serve.WithMaxStaleness(time.Minute))
		b.put(b.main, "a", "one")
		s := b.delta(b.dial(""))
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{Node: node("<script>n\x01"), TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		r, err := s.Recv()
		if err == nil {
			err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r.GetNonce(), ErrorDetail: status.New(codes.InvalidArgument, "<b>bad").Proto()})
		}
		if err != nil {
			t.Fatal(err)
		}
		current := b.open("a")
		if r, err = current.Recv(); err == nil {
			err = current.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResponseNonce: r.GetNonce()})
		}
		if err != nil {
			t.Fatal(err)
		}
		b.put(b.east, eastern, "one")
		b.east.SetState(source.State{Kind: source.Stale})
		pass(2 * time.Minute)
		h := b.server.StatusHandler("xds.example.com")
		page := get(h, "http://x/status/", "text/html")
		for _, want := range []string{"&lt;script&gt;n", "&lt;b&gt;bad", "behind for 2m0s", "Clients should not use this server", "east", r.GetSystemVersionInfo()} {
			if !strings.Contains(page.Body.String(), want) {
				t.Errorf("the page lacks %q:\n%s", want, page.Body)
			}
		}
		if text := page.Body.String(); strings.Contains(text, "<script>") || strings.Contains(text, "\x01") || page.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("the page is not safe: %v\n%s", page.Header(), text)
		}
		var data struct {
			Problem string
			Clients []struct {
				Node  string
				Types []struct {
					Type, Reason string
					Rejections   int
				}
			}
		}
		if err := json.Unmarshal(get(h, "http://x/status/", "application/json").Body.Bytes(), &data); err != nil {
			t.Fatal(err)
		}
		if len(data.Clients) != 2 || data.Clients[0].Types[0].Rejections != 1 || !strings.Contains(data.Problem, "east") {
			t.Errorf("JSON %+v, want two clients, one with a rejection, and the problem of east", data)
		}
		for query, want := range map[string]int{"": 2, "?node=script": 1, "?node=other": 0, "?behind=1": 1} {
			data.Clients = nil
			if err := json.Unmarshal(get(h, "http://x/status/"+query, "application/json").Body.Bytes(), &data); err != nil {
				t.Fatal(err)
			}
			if len(data.Clients) != want {
				t.Errorf("%d clients with %q, want %d", len(data.Clients), query, want)
			}
		}
		if w := get(h, "http://x/status/page.css", "*/*"); !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
			t.Errorf("page.css has type %q", w.Header().Get("Content-Type"))
		}
	})
}

// Browsers reach the page only by names that cannot belong to another site.
func TestStatusPageIsGuarded(t *testing.T) {
	b := newBench(t, nil)
	h := b.server.StatusHandler("xds.example.com")
	for host, want := range map[string]int{"xds.example.com": 200, "localhost:80": 200, "[::1]:80": 200, "attacker.example": 421} {
		r := httptest.NewRequest(http.MethodGet, "http://x/", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %s: %d, want %d", host, w.Code, want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", http.NoBody)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d, want %d", w.Code, http.StatusMethodNotAllowed)
	}
}
