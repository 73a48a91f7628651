package serve

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/envelope"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/internal/webguard"
)

//go:embed assets
var assets embed.FS

// maxRows is the limit of clients and of clusters with load in the page.
const maxRows = 1000

// A status is the content of the page, in HTML and in JSON.
type status struct {
	Time     time.Time      `json:"time"`
	Problem  string         `json:"problem,omitempty"` // why clients should not use the server
	Sources  []sourceStatus `json:"sources"`
	Types    []typeStatus   `json:"types"`
	Ended    []endStatus    `json:"ended"` // streams that the server refused or ended
	Clients  []clientStatus `json:"clients"`
	Hidden   int            `json:"hidden_clients"` // beyond the limit of rows
	Load     []LoadTotal    `json:"load,omitempty"`
	Filter   string         `json:"-"`
	Selected int            `json:"-"` // clients that the filter selects
}

type sourceStatus struct {
	View      string        `json:"view,omitempty"`
	Authority string        `json:"authority"`
	State     string        `json:"state"`
	Epoch     string        `json:"epoch"`
	Revision  uint64        `json:"revision"`
	Age       time.Duration `json:"age_ns"` // since it is stale
	Expired   bool          `json:"expired"`
	Known     bool          `json:"-"` // it has reported a state
}

type typeStatus struct {
	Type       string        `json:"type"`
	Requests   uint64        `json:"requests"`
	Responses  uint64        `json:"responses"`
	Rejections uint64        `json:"rejections"`
	Behind     int           `json:"streams_behind"`
	Lag        time.Duration `json:"lag_ns"`
}

type endStatus struct {
	Reason  string `json:"reason"`
	Streams uint64 `json:"streams"`
}

type clientStatus struct {
	Node     string             `json:"node"`
	Identity string             `json:"identity"`
	Address  string             `json:"address"`
	View     string             `json:"view,omitempty"`
	Service  string             `json:"service"`
	Protocol string             `json:"protocol"`
	Since    time.Time          `json:"since"`
	Types    []clientStatusType `json:"types"`
}

type clientStatusType struct {
	Type       string        `json:"type"`
	Names      int           `json:"names"`
	Refused    int           `json:"refused"`
	Sent       string        `json:"sent"`
	Accepted   string        `json:"accepted"`
	Rejected   string        `json:"rejected,omitempty"`
	Rejections int           `json:"rejections"`
	Reason     string        `json:"reason,omitempty"`
	UpToDate   bool          `json:"up_to_date"`
	Lag        time.Duration `json:"lag_ns"`
}

// StatusHandler returns a handler of a page for operators: the sources, the types, and the state of each
// client. A request that accepts application/json receives the same as JSON. The query node= selects the
// clients whose node has a text in its id, and behind=1 those that lack the newest resources.
//
// A page is built at a time, because each reads the states of all clients. Beyond 16 requests at a time, further ones fail with
// status 503.
//
// Browsers reach the page by IP addresses, localhost and the given host names. The page shows the nodes
// and the identities of clients, so serve it only to operators.
func (s *Server) StatusHandler(hosts ...string) http.Handler {
	page := template.Must(template.New("page.html").Funcs(template.FuncMap{"seconds": func(d time.Duration) string {
		return d.Round(time.Millisecond).String()
	}}).ParseFS(assets, "assets/page.html")) // part of the program, so it is valid
	turns := webguard.NewTurns("serve")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		webguard.Secure(w.Header())
		if code, reason := webguard.Refusal(r, hosts, "the hosts of StatusHandler"); code != 0 {
			http.Error(w, reason, code)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/page.css") {
			http.ServeFileFS(w, r, assets, "assets/page.css")
			return
		}
		turns.Serve(w, r, func() ([]byte, string, error) { return s.page(page, r) })
	})
}

// page returns the page for a request, and its content type.
func (s *Server) page(page *template.Template, r *http.Request) (body []byte, kind string, err error) {
	query := r.URL.Query() // FormValue would read a form in the body, into memory and files
	data := s.status(query.Get("node"), query.Get("behind") == "1", time.Now())
	var b bytes.Buffer
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		kind, err = "application/json", json.NewEncoder(&b).Encode(data)
	} else {
		kind, err = "text/html; charset=utf-8", page.Execute(&b, data)
	}
	return b.Bytes(), kind, err
}

// status returns the content of the page.
func (s *Server) status(node string, behind bool, now time.Time) *status {
	out := &status{Time: now, Filter: node, Load: s.Load()}
	if err := s.Healthy(); err != nil {
		out.Problem = text(err.Error())
	}
	out.Load = out.Load[:min(len(out.Load), maxRows)]
	out.Sources, out.Types = s.sources(now), s.totals(now)
	s.mu.Lock()
	for _, reason := range slices.Sorted(maps.Keys(s.refused)) {
		out.Ended = append(out.Ended, endStatus{reason, s.refused[reason]})
	}
	s.mu.Unlock()
	for c := range s.Clients() {
		current := !slices.ContainsFunc(c.Types, func(t ClientType) bool { return !t.UpToDate })
		if behind && current || !strings.Contains(c.Node, node) {
			continue
		}
		out.Selected++
		if len(out.Clients) < maxRows {
			out.Clients = append(out.Clients, clientRow(&c, now))
		}
	}
	out.Hidden = out.Selected - len(out.Clients)
	return out
}

// sources returns the states of the sources of all views.
func (s *Server) sources(now time.Time) (list []sourceStatus) {
	s.mu.Lock()
	names := append([]string{""}, slices.Sorted(maps.Keys(s.views))...)
	s.mu.Unlock()
	for i, c := range s.cores() {
		for _, f := range c.Feeds() {
			if i > 0 && f.Authority != "" {
				continue // the views share it
			}
			row := sourceStatus{View: names[i], Authority: f.Authority, State: text(f.State.String()), Epoch: f.Epoch, Revision: f.Revision, Expired: f.Expired, Known: f.State.Kind != 0}
			if !f.Stale.IsZero() {
				row.Age = now.Sub(f.Stale)
			}
			list = append(list, row)
		}
	}
	return list
}

// clientRow returns the row of a client, whose texts are not trusted.
func clientRow(c *Client, now time.Time) clientStatus {
	row := clientStatus{
		Node: text(c.Node), Identity: text(c.Identity.String()), Address: c.Address, View: text(c.View),
		Service: c.Service[strings.LastIndexByte(c.Service, '.')+1:], Protocol: "state of the world", Since: c.Since,
	}
	if c.Delta {
		row.Protocol = "delta"
	}
	for _, t := range c.Types {
		row.Types = append(row.Types, clientStatusType{
			Type: text(envelope.MessageName(t.URL)), Names: t.Names, Refused: t.Refused, Sent: t.Sent, Accepted: t.Accepted,
			Rejected: t.Rejected, Rejections: t.Rejections, Reason: text(t.Reason), UpToDate: t.UpToDate, Lag: t.Lag(now),
		})
	}
	return row
}

// text clips and escapes a text from outside.
func text(s string) string { return printable.Text(s, printable.Quoted) }
