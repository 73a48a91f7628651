package httpxds_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/httpxds"
	"github.com/xdsforge/xdsforge/internal/scrape"
)

// ejected returns the number of endpoints of the only target that are ejected.
func (w *world) ejected() int {
	w.Helper()
	targets, err := w.env.Targets(soon(w))
	if err != nil {
		w.Fatal(err)
	}
	n := 0
	for _, target := range targets {
		for _, c := range target.Clusters {
			for _, l := range c.Leaves {
				for _, p := range l.Priorities {
					for _, locality := range p.Localities {
						for _, e := range locality.Endpoints {
							if e.Ejected {
								n++
							}
						}
					}
				}
			}
		}
	}
	return n
}

// An endpoint with consecutive failures is ejected at once, and gets no further requests. Requests that the caller ends do
// not count.
func TestConsecutiveFailures(t *testing.T) {
	const settings = `outlier_detection { interval { seconds: 3600 } enforcing_success_rate { value: 0 } max_ejection_percent { value: 50 } `
	for name, tt := range map[string]struct {
		settings string
		bad      http.HandlerFunc
		want     int
	}{
		"5xx":      {settings + `consecutive_5xx { value: 3 } }`, status(500), 1},
		"disabled": {settings + `consecutive_5xx { value: 3 } enforcing_consecutive_5xx { value: 0 } }`, status(500), 0},
		"gateway": {
			settings + `consecutive_gateway_failure { value: 3 } enforcing_consecutive_gateway_failure { value: 100 } enforcing_consecutive_5xx { value: 0 } }`,
			status(502), 1,
		},
		"local origin": {
			settings + `split_external_local_origin_errors: true consecutive_local_origin_failure { value: 3 } enforcing_consecutive_5xx { value: 0 } }`,
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster("c", tt.settings, serve(t, tt.bad), serve(t, named("good")))
			w.routes("%s", to("c"))
			rt := w.transport()
			failed := 0
			until(t, func() (bool, string) { // the bad endpoint is connected
				body, err := get(t, rt, "http://svc/")
				if body != "good HTTP/1.1" {
					failed++
				}
				return failed == 3, fmt.Sprint(body, err)
			})
			if tt.want == 0 {
				if n := w.ejected(); n != 0 {
					t.Errorf("%d endpoints are ejected; want none", n)
				}
				return
			}
			until(t, func() (bool, string) { return w.ejected() == 1, "no endpoint is ejected" })
			until(t, func() (bool, string) { // a picker from before may still be in use
				for range 10 {
					if body, err := get(t, rt, "http://svc/"); body != "good HTTP/1.1" {
						return false, fmt.Sprint(body, err)
					}
				}
				return true, ""
			})
		})
	}
}

// The ejections of an HTTP client are counted, as those of a channel (A91).
func TestEjectionMetrics(t *testing.T) {
	w := newWorld(t)
	meter := scrape.NewMeter()
	w.env = w.plane.Env(xdsforge.WithTypes(httpxds.Register), xdsforge.WithMeterProvider(meter))
	w.cluster("c", `outlier_detection { interval { seconds: 3600 } consecutive_5xx { value: 1 } max_ejection_percent { value: 100 } }`, serve(t, status(500)))
	w.routes("%s", to("c"))
	if _, err := get(t, w.transport(), "http://svc/"); err != nil {
		t.Fatal(err)
	}
	const want = "grpc.lb.outlier_detection.ejections_enforced{grpc.lb.backend_service=c,grpc.lb.outlier_detection.detection_method=consecutive_5xx,grpc.target=xds:///svc} 1"
	until(t, func() (bool, string) {
		lines, err := meter.Lines(t.Context(), "grpc.lb.")
		return err == nil && slices.Equal(lines, []string{want}), fmt.Sprint(lines, err)
	})
}

// Requests that their caller cancels do not eject an endpoint.
func TestCanceledRequestsAreNoFailures(t *testing.T) {
	w := newWorld(t)
	g := newGate()
	defer close(g.open)
	w.cluster("c", `outlier_detection { interval { seconds: 3600 } consecutive_5xx { value: 1 } split_external_local_origin_errors: true consecutive_local_origin_failure { value: 1 } }`,
		serve(t, g.ServeHTTP))
	w.routes("%s", to("c"))
	rt := w.transport()
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://svc/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			resp, err := rt.RoundTrip(r)
			if err == nil {
				_ = resp.Body.Close()
			}
			done <- err
		}()
		<-g.entered
		cancel()
		if err := <-done; err == nil {
			t.Error("a canceled request succeeds")
		}
	}
	if n := w.ejected(); n != 0 {
		t.Errorf("%d endpoints are ejected after canceled requests; want none", n)
	}
}

// status returns a handler that responds with a status.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}
