package server

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

var (
	errEscapedSlash = errors.New("httpxds: the path has an escaped slash or a backslash; must have none unless the server accepts them")
	errOpaque       = errors.New("httpxds: the URL has a scheme and no path; must have a path")
	errControl      = errors.New("httpxds: the path has an escaped control character; must have none")
)

// resolved returns the request with one form of the path, by which routes match it and the handler serves it. The form
// is decoded, without empty, "." and ".." segments. Otherwise a path such as /%61dmin or //admin could pass the rules of
// another path than the one that the handler serves. It returns the request itself if the path has this form.
func resolved(r *http.Request, escapedSlashes bool) (*http.Request, error) {
	u := r.URL
	if u.Path == "" && r.Method == http.MethodConnect || u.Path == "*" && r.Method == http.MethodOptions {
		return r, nil // it has no path
	}
	if u.Opaque != "" {
		return nil, errOpaque
	}
	path := u.Path
	if u.RawPath != "" || strings.IndexByte(path, '\\') >= 0 {
		if !escapedSlashes && (hasEscapedSlash(u.RawPath) || strings.IndexByte(path, '\\') >= 0) {
			return nil, errEscapedSlash
		}
		path = strings.ReplaceAll(path, `\`, "/")
	}
	for i := range len(path) {
		if path[i] < ' ' || path[i] == 0x7f {
			return nil, errControl
		}
	}
	clean := cleaned(path)
	if clean == u.Path && u.RawPath == "" {
		return r, nil
	}
	out := new(http.Request)
	*out = *r
	out.URL = new(url.URL)
	*out.URL = *u
	out.URL.Path, out.URL.RawPath = clean, ""
	out.RequestURI = out.URL.RequestURI()
	return out, nil
}

// hasEscapedSlash reports whether an encoded path has an escaped slash or backslash.
func hasEscapedSlash(raw string) bool {
	for i := 0; i+2 < len(raw); i++ {
		if raw[i] == '%' {
			switch strings.ToLower(raw[i+1 : i+3]) {
			case "2f", "5c":
				return true
			}
		}
	}
	return false
}

// cleaned removes empty, "." and ".." segments (RFC 3986 section 5.2.4), and keeps a slash at the end. The result starts
// with a slash.
func cleaned(path string) string {
	if path != "" && path[0] == '/' && !strings.Contains(path, "//") && !strings.Contains(path, "/.") {
		return path
	}
	segments := strings.Split(path, "/")
	out := make([]string, 1, len(segments)+1)
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case "", ".":
		case "..":
			if len(out) > 1 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	if len(out) == 1 {
		return "/"
	}
	return strings.Join(out, "/")
}
