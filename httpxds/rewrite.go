package httpxds

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/xdsforge/xdsforge/httpxds/internal/origin"
	"github.com/xdsforge/xdsforge/httpxds/internal/reply"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// originalPath is the header with the path and query of a request before they were rewritten, as Envoy has it.
const originalPath = "X-Envoy-Original-Path"

// prepare returns the request to send: r itself, or a copy with the changes of its route.
func (x *exchange) prepare(r *http.Request, v *view) (*http.Request, error) {
	p, of := x.plan, x.to.Own.headers
	rw := &p.Rewrite
	host, path := rewrittenHost(rw, v), rewrittenPath(p.route, rw, pathOf(r))
	forwarded := rw.AppendHost && host != ""
	changed := forwarded || len(p.Headers.Request) > 0 || of != nil && len(of.Request) > 0
	if !changed && host == "" && path == "" {
		return r, nil
	}
	out := r.WithContext(r.Context())
	if host != "" {
		out.Host = host
	}
	if changed || path != "" {
		out.Header = r.Header.Clone()
		if out.Header == nil {
			out.Header = make(http.Header)
		}
	}
	if forwarded {
		appendHost(out.Header, hostOf(r))
	}
	if of != nil {
		change(out.Header, of.Request, r)
	}
	change(out.Header, p.Headers.Request, r)
	if path == "" {
		return out, nil
	}
	u := *r.URL
	if err := setPath(&u, path); err != nil {
		return nil, err
	}
	out.URL = &u
	out.Header.Set(originalPath, r.URL.RequestURI())
	return out, nil
}

// forwardedHost is the header with the hosts of a request before they were rewritten.
const forwardedHost = "X-Forwarded-Host"

// appendHost appends a host to those of earlier proxies, unless it is the last of them.
func appendHost(h http.Header, host string) {
	before := strings.Join(h[forwardedHost], ",")
	if last := before[strings.LastIndexByte(before, ',')+1:]; host == "" || strings.TrimSpace(last) == host {
		return
	}
	if before != "" {
		before += ","
	}
	h[forwardedHost] = []string{before + host}
}

// setPath sets the path of a URL to one that is escaped.
func setPath(u *url.URL, path string) error {
	plain, err := url.PathUnescape(path)
	if err != nil || !strings.HasPrefix(path, "/") {
		return fmt.Errorf("the rewritten path %q is not valid", path)
	}
	u.Path, u.RawPath, u.Opaque = plain, path, ""
	return nil
}

// rewrittenPath returns the path of a rewritten request, or "" if it does not change.
func rewrittenPath(r *route.Route, rw *route.Rewrite, path string) string {
	out := path
	switch {
	case rw.PrefixSet:
		matched := len(path)
		switch p := r.Path.(type) {
		case route.Prefix:
			matched = len(p.Value)
		case route.SeparatedPrefix:
			matched = len(p.Value)
		}
		out = rw.Prefix + path[matched:]
	case rw.Regex != nil:
		out = rw.Regex.Pattern.ReplaceAllString(path, rw.Regex.Substitution)
	}
	if out == path {
		return ""
	}
	return out
}

// rewrittenHost returns the host of a rewritten request, or "" if it does not change.
func rewrittenHost(rw *route.Rewrite, v *view) string {
	switch {
	case rw.Host != "":
		return rw.Host
	case rw.HostHeader != "":
		if values := v.Values(rw.HostHeader); len(values) > 0 {
			return values[0]
		}
	case rw.HostPath != nil:
		return rw.HostPath.Pattern.ReplaceAllString(pathOf(v.request), rw.HostPath.Substitution)
	}
	return ""
}

// change applies changes to the headers of a client's request or response. r is the request, which values may refer to.
func change(h http.Header, list []route.HeaderChange, r *http.Request) {
	changeBy(h, list, r, schemeOf)
}

// changeReceived is change for a server.
func changeReceived(h http.Header, list []route.HeaderChange, r *http.Request) {
	changeBy(h, list, r, origin.Scheme)
}

func changeBy(h http.Header, list []route.HeaderChange, r *http.Request, scheme func(*http.Request) string) {
	for i := range list {
		c := &list[i]
		if c.Action == route.RemoveHeader {
			h.Del(c.Name)
			continue
		}
		value := c.Value.Format(func(name string) string {
			switch {
			case name == ":scheme":
				return scheme(r)
			case strings.HasPrefix(name, ":"):
				return strings.Join(pseudo(r, name), "")
			}
			return r.Header.Get(name)
		})
		_, there := h[c.Name]
		switch {
		case value == "" && !c.KeepEmpty:
		case c.Action == route.AppendHeader:
			h[c.Name] = append(h[c.Name], value)
		case c.Action == route.AddHeaderIfAbsent && there, c.Action == route.ReplaceHeader && !there:
		default:
			h[c.Name] = []string{value}
		}
	}
}

// local returns the response of a route that sends requests nowhere: a redirect or a direct response.
func local(r *http.Request, p *plan) *http.Response {
	var resp *http.Response
	if d := p.Direct; d != nil {
		resp = reply.To(r, d.Status, d.Body)
	} else {
		resp = reply.New(p.Redirect.Status, "")
		resp.Header.Set("Location", location(r, schemeOf(r), p.route, p.Redirect))
	}
	change(resp.Header, p.Headers.Response, r)
	return resp
}

// locationReceived returns the URL of a redirect of a server.
func locationReceived(r *http.Request, t *route.Route, d *route.Redirect) string {
	return location(r, origin.Scheme(r), t, d)
}

// location returns the URL of a redirect for a request by a scheme.
func location(r *http.Request, scheme string, t *route.Route, d *route.Redirect) string {
	host := hostOf(r)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	if d.Scheme != "" && d.Scheme != scheme && (port == "80" && scheme == "http" || port == "443" && scheme == "https") {
		host = name // without the default port of the scheme before
	}
	if d.Host != "" {
		host, name = d.Host, d.Host
	}
	if d.Port != 0 {
		host = net.JoinHostPort(strings.Trim(name, "[]"), strconv.Itoa(int(d.Port)))
	}
	if d.Scheme != "" {
		scheme = d.Scheme
	}
	path := pathOf(r)
	if d.Path != "" {
		path = d.Path
	} else if to := rewrittenPath(t, &d.Rewrite, path); to != "" {
		path = to
	}
	if r.URL.RawQuery != "" && !d.StripQuery && !strings.Contains(path, "?") {
		path += "?" + r.URL.RawQuery
	}
	return scheme + "://" + host + path
}

// toHTTPS returns the redirect of a request whose virtual host requires TLS.
func toHTTPS(r *http.Request) *http.Response {
	resp := reply.New(http.StatusMovedPermanently, "")
	resp.Header.Set("Location", "https://"+hostOf(r)+r.URL.RequestURI())
	return resp
}
