// Package reply makes responses that no endpoint has sent.
package reply

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// New returns a response with a status and a text.
func New(status int, body string) *http.Response {
	resp := &http.Response{
		StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody, ContentLength: int64(len(body)),
	}
	if body != "" {
		resp.Header.Set("Content-Type", "text/plain")
		resp.Body = io.NopCloser(strings.NewReader(body))
	}
	return resp
}

// To is New for a request. A response to HEAD has no body.
func To(r *http.Request, status int, body string) *http.Response {
	resp := New(status, body)
	if r.Method == http.MethodHead {
		resp.Body = http.NoBody
	}
	return resp
}
