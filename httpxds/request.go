package httpxds

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

var (
	errNoURL    = errors.New("Request.URL = nil; must be set")
	errNoHeader = errors.New("Request.Header = nil; must be set")
	errNoHost   = errors.New(`Request.URL.Host = ""; must be set`)
	errControl  = errors.New("Request.URL has a control character; must be escaped")
)

// checked returns the request to route, or the error that the program made. The body of the request is closed once, however
// often this package closes it.
func checked(r *http.Request) (*http.Request, error) {
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	if size, ok := sizeInMemory(r.Body); ok {
		if length := lengthOf(r); length >= 0 && length != size {
			return nil, fmt.Errorf("Request.ContentLength = %d; must be the length of the body, which is %d", length, size)
		}
		return r, nil
	}
	out := new(http.Request)
	*out = *r
	out.Body = checkedBodyOf(r)
	return out, nil
}

// checkRequest returns the error of a request that cannot be sent, by the rules of http.Transport.
func checkRequest(r *http.Request) error {
	switch {
	case r.URL == nil:
		return errNoURL
	case r.Header == nil:
		return errNoHeader
	case r.URL.Scheme != "http" && r.URL.Scheme != "https" && r.URL.Scheme != "xds":
		return fmt.Errorf("Request.URL.Scheme = %q; must be http or https", r.URL.Scheme)
	case r.Method != "" && !httpguts.ValidHeaderFieldName(r.Method): // a method is a token, too
		return fmt.Errorf("Request.Method = %q; must be a token", r.Method)
	case r.URL.Host == "":
		return errNoHost
	case strings.ContainsFunc(r.URL.RawQuery, isControl), strings.ContainsFunc(r.URL.Opaque, isControl):
		return errControl
	case r.Body == nil && r.ContentLength > 0:
		return fmt.Errorf("Request.ContentLength = %d and Request.Body = nil; must have a body of this length", r.ContentLength)
	}
	if _, err := httpguts.PunycodeHostPort(hostOf(r)); err != nil {
		return fmt.Errorf("Request.Host = %q; must be a host: %w", hostOf(r), err)
	}
	if err := checkFields("Header", r.Header); err != nil {
		return err
	}
	for name := range r.Trailer {
		if !httpguts.ValidTrailerHeader(http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("Request.Trailer has the name %q; must not be one", name)
		}
	}
	return checkFields("Trailer", r.Trailer)
}

// checkFields returns the error of headers or trailers. It has no values, which may be secret.
func checkFields(kind string, fields http.Header) error {
	for name, values := range fields {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("Request.%s has the name %q; must be a token", kind, name) //nolint:staticcheck // a name
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("Request.%s has an invalid value of %q; must have no control characters", kind, name) //nolint:staticcheck // a name
			}
		}
	}
	return nil
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// isUpgrade reports whether a request asks for another protocol on its connection.
func isUpgrade(r *http.Request) bool { return r.Header["Upgrade"] != nil }

// lengthOf returns the length of the body that a request announces, or -1 if it does not.
func lengthOf(r *http.Request) int64 {
	if r.ContentLength > 0 {
		return r.ContentLength
	}
	return -1
}

// unwritable reports whether an error of net/http says that it could not write a request because of its contents. net/http has
// no exported form of these errors.
func unwritable(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "http2: invalid ") || strings.HasPrefix(text, "http2: request header list larger than")
}

// closeBody closes the body of a request that is not sent. Every RoundTripper must.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // the request has another error
	}
}

var _ io.ReadCloser = (*checkedBody)(nil)
