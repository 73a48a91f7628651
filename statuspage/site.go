package statuspage

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/internal/webguard"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

//go:embed assets
var assets embed.FS

// The limits of the handler.
const (
	viewTimeout = 15 * time.Second
	maxStreams  = 32
)

// A site serves the pages.
type site struct {
	config    Config
	source    *inspect.Source
	templates map[string]*template.Template // by view
	views     map[string]view
	streams   chan struct{}
	now       func() time.Time
	digests   digests
}

// A view returns the data of a page. The data of HTML and JSON is the same.
type view func(ctx context.Context, q query) (content, error)

// A content is the content of a page.
type content struct {
	title string
	// command is the command of xdsctl that shows the same; "" if there is none.
	command string
	data    any
}

func newSite(c Config, envs []*xdsforge.Env) *site {
	list := func() []*xdsforge.Env {
		if len(envs) > 0 {
			return envs
		}
		return xdsforge.Envs()
	}
	s := &site{config: c, source: inspect.NewSource(list), streams: make(chan struct{}, maxStreams), now: time.Now}
	s.views = map[string]view{
		"": s.overview, "client": s.client, "resources": s.resources, "resource": s.resource,
		"servers": s.servers, "events": s.events, "route": s.route,
	}
	s.templates = make(map[string]*template.Template, len(s.views)+1)
	for name := range s.views {
		s.templates[name] = parse(file(name))
	}
	s.templates["error"] = parse("error")
	return s
}

// file returns the name of the template of a view.
func file(view string) string {
	if view == "" {
		return "overview"
	}
	return view
}

// parse returns the template of a page. The templates are part of the program, so they are valid.
func parse(name string) *template.Template {
	t := template.New("layout.html").Funcs(functions())
	return template.Must(t.ParseFS(assets, "assets/layout.html", "assets/parts.html", "assets/"+name+".html"))
}

// ServeHTTP implements [http.Handler].
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	webguard.Secure(w.Header())
	if f := s.refusal(r); f != nil {
		s.fail(w, r, f)
		return
	}
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch name {
	case "style.css", "script.js", "icon.svg":
		s.asset(w, r, name)
		return
	case "stream":
		s.stream(w, r)
		return
	}
	v, ok := s.views[name]
	if !ok {
		s.fail(w, r, &failure{http.StatusNotFound, "there is no page " + quoted(name)})
		return
	}
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
	defer cancel()
	c, err := v(ctx, q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if wantsJSON(r.Header.Get("Accept")) {
		s.writeJSON(w, http.StatusOK, c.data)
		return
	}
	s.writePage(ctx, w, r, http.StatusOK, name, c)
}

// A failure is an error with an HTTP status.
type failure struct {
	code int
	text string
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// failureOf returns the failure for an error of a view.
func failureOf(err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, inspect.ErrUnknown):
		return &failure{http.StatusNotFound, err.Error()}
	case errors.Is(err, xdsforge.ErrClosed):
		return &failure{http.StatusNotFound, "the client was closed: " + err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{http.StatusServiceUnavailable, "the clients did not answer in " + viewTimeout.String()}
	}
	return &failure{http.StatusInternalServerError, err.Error()}
}
