package xdsd

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/internal/webguard"
	"github.com/xdsforge/xdsforge/serve"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// A sourceStatus is the state of a source in /status.
type sourceStatus struct {
	Authority string       `json:"authority"`
	Source    string       `json:"source"`
	State     string       `json:"state"`
	Stale     *time.Time   `json:"stale_since,omitempty"`
	Problems  []string     `json:"problems,omitempty"`
	Store     *storeStatus `json:"store,omitempty"`
}

// A storeStatus is the state of a store in etcd. Processes with equal epochs and revisions must have equal sums.
type storeStatus struct {
	Endpoint  string            `json:"endpoint"`
	Epoch     string            `json:"epoch"`
	Revision  int64             `json:"revision"`
	Resources int               `json:"resources"`
	Invalid   int               `json:"invalid"`
	Lists     int               `json:"lists"`
	Switches  int               `json:"switches"`
	Fresh     time.Time         `json:"fresh"`
	Sums      map[string]uint64 `json:"sums"`
}

// handler serves the health and the status of the daemon. Browsers reach the status by IP addresses, localhost
// and the given hosts.
func (a *app) handler(s *serve.Server, origins []*origin, hosts []string, d *drift) http.Handler {
	mux := http.NewServeMux()
	for path, check := range map[string]func() error{"GET /healthz": s.Healthy, "GET /readyz": s.Ready} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if err := check(); err != nil {
				http.Error(w, printable.Text(err.Error(), printable.Whole), http.StatusServiceUnavailable)
			}
		})
	}
	page := s.StatusHandler(hosts...)
	mux.Handle("GET /{$}", page)
	mux.Handle("GET /page.css", page)
	guarded := func(content func() any) http.HandlerFunc {
		turns := webguard.NewTurns("xdsd")
		return func(w http.ResponseWriter, r *http.Request) {
			webguard.Secure(w.Header())
			if code, reason := webguard.Refusal(r, hosts, "the names of -http-hosts"); code != 0 {
				http.Error(w, reason, code)
				return
			}
			turns.Serve(w, r, func() ([]byte, string, error) {
				var b bytes.Buffer
				e := json.NewEncoder(&b)
				e.SetIndent("", "  ")
				err := e.Encode(content())
				return b.Bytes(), "application/json", err
			})
		}
	}
	mux.HandleFunc("GET /digests", guarded(func() any { return digests(origins) }))
	mux.HandleFunc("GET /status", guarded(func() any {
		out := struct {
			Sources []sourceStatus `json:"sources"`
			Drift   []string       `json:"drift,omitempty"`
			Clients []serve.Client `json:"clients"`
		}{Drift: d.list()}
		for _, o := range origins {
			out.Sources = append(out.Sources, o.status())
		}
		for c := range s.Clients() {
			out.Clients = append(out.Clients, c)
		}
		return out
	}))
	return mux
}

func (o *origin) status() sourceStatus {
	o.mu.Lock()
	state := o.state
	o.mu.Unlock()
	out := sourceStatus{Authority: o.authority, Source: o.name, State: state.String()}
	if !state.Since.IsZero() {
		out.Stale = &state.Since
	}
	if o.dir != nil {
		for _, err := range o.dir.Problems() {
			out.Problems = append(out.Problems, err.Error())
		}
	}
	if o.store != nil {
		out.Store = statusOf(o.store)
	}
	return out
}

func statusOf(s *etcd.Store) *storeStatus {
	st, d := s.Status(), s.Digest()
	return &storeStatus{
		Endpoint: st.Endpoint, Epoch: d.Epoch, Revision: d.Revision, Resources: st.Resources, Invalid: st.Invalid,
		Lists: st.Lists, Switches: st.Switches, Fresh: st.Fresh, Sums: d.Sums,
	}
}
