package statuspage

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

// A page is the data of the layout.
type page struct {
	View    string
	Title   string
	Health  inspect.Health
	Command string
	Curl    string
	Now     time.Time
	Data    any
}

// writePage writes a page with the health of everything.
func (s *site) writePage(ctx context.Context, w http.ResponseWriter, r *http.Request, code int, name string, c content) {
	p := page{View: name, Title: c.title, Command: c.command, Curl: curl(r), Now: s.now(), Data: c.data}
	health, err := s.source.Health(ctx)
	if err != nil {
		health = inspect.Health{State: inspect.Waiting, Problems: []inspect.Problem{{Level: inspect.Waiting, Text: "health is not known: " + err.Error()}}}
	}
	p.Health = health
	var b bytes.Buffer
	if err := s.templates[name].Execute(&b, p); err != nil {
		http.Error(w, "statuspage: "+printable.Text(err.Error(), printable.Quoted), http.StatusInternalServerError)
		return
	}
	send(w, code, "text/html; charset=utf-8", b.Bytes())
}

func (s *site) writeJSON(w http.ResponseWriter, code int, data any) {
	b, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		code = http.StatusInternalServerError
		b, _ = json.Marshal(map[string]string{"error": printable.Text(err.Error(), printable.Quoted)})
	}
	send(w, code, "application/json", append(b, '\n'))
}

// fail writes an error as a page or as JSON.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	text := printable.Text(f.text, printable.Whole)
	switch {
	case f.code == http.StatusMethodNotAllowed:
		w.Header().Set("Allow", "GET, HEAD")
		fallthrough
	case f.code == http.StatusMisdirectedRequest:
		http.Error(w, "statuspage: "+text, f.code)
	case wantsJSON(r.Header.Get("Accept")):
		s.writeJSON(w, f.code, map[string]string{"error": text})
	default:
		ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
		defer cancel()
		s.writePage(ctx, w, r, f.code, "error", content{title: http.StatusText(f.code), data: text})
	}
}

func send(w http.ResponseWriter, code int, contentType string, b []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(code)
	_, _ = w.Write(b) //nolint:gosec // the templates have escaped it; the browser may have left
}

// asset writes a file.
func (s *site) asset(w http.ResponseWriter, r *http.Request, name string) {
	b, err := fs.ReadFile(assets, "assets/"+name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, map[string]string{
		"style.css": "text/css; charset=utf-8", "script.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	}[name], b)
}
