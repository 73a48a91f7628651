package statuspage

import (
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// The limits of query parameters, in bytes unless noted.
const (
	maxText    = 256      // of a search
	maxName    = 8 << 10  // of a resource, a client, a method
	maxHeaders = 16 << 10 // of the route tester
	maxPage    = 1 << 30  // number
)

// A query has the parameters of a view.
type query struct {
	url.Values
}

// parseQuery parses a query. Its errors are failures.
func parseQuery(raw string) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, &failure{http.StatusBadRequest, "query: " + printable.Text(err.Error(), printable.Quoted)}
	}
	for name, list := range values {
		if len(list) > 1 && name != "header" {
			return query{}, bad(name, list[1], "must be given once")
		}
	}
	q := query{values}
	for name, limit := range map[string]int{
		"client": maxName, "name": maxName, "method": maxName, "type": maxName, "state": maxText, "kind": maxText, "q": maxText, "page": maxText,
	} {
		switch value := q.Get(name); {
		case len(value) > limit:
			return query{}, bad(name, value, fmt.Sprintf("must have at most %d bytes", limit))
		case !utf8.ValidString(value):
			return query{}, bad(name, value, "must be UTF-8")
		}
	}
	return q, nil
}

func bad(name, value, rule string) error {
	return &failure{http.StatusBadRequest, fmt.Sprintf("%s = %s; %s", printable.Text(name, printable.Short), quoted(value), rule)}
}

// page returns the number of the page, from 1.
func (q query) page() (int, error) {
	text := q.Get("page")
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, bad("page", text, fmt.Sprintf("must be a number from 1 to %d", maxPage))
	}
	return n, nil
}

// headers returns the headers of a call, by name in lower case. A parameter can have several lines.
func (q query) headers() (map[string][]string, error) {
	out := make(map[string][]string)
	text := strings.Join(q.Values["header"], "\n")
	if len(text) > maxHeaders {
		return nil, bad("header", text, fmt.Sprintf("must have at most %d bytes in all", maxHeaders))
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = textproto.TrimString(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name = strings.ToLower(textproto.TrimString(name))
		if !ok || !httpguts.ValidHeaderFieldName(name) {
			return nil, bad("header", line, "must be like \"name: value\"")
		}
		out[name] = append(out[name], textproto.TrimString(value))
	}
	return out, nil
}

// quoted returns text from outside for a message.
func quoted(s string) string { return printable.Quote(s, printable.Short) }

// wantsJSON reports whether an Accept header prefers JSON to HTML.
func wantsJSON(accept string) bool {
	json, html := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		media, params, _ := strings.Cut(part, ";")
		weight := 1.0
		for p := range strings.SplitSeq(params, ";") {
			if v, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
				if f, err := strconv.ParseFloat(v, 64); err == nil && f >= 0 && f <= 1 {
					weight = f
				}
			}
		}
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "application/json":
			json = max(json, weight)
		case "text/html":
			html = max(html, weight)
		}
	}
	return json > html
}
