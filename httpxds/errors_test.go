package httpxds_test

import (
	"errors"
	"io"
	"net/url"
	"testing"

	"github.com/xdsforge/xdsforge/httpxds"
)

// TestError expects an error to name its parts on one line, to have its cause, and to pass through the errors of
// http.Client.
func TestError(t *testing.T) {
	for _, tt := range []struct {
		err  *httpxds.Error
		want string
	}{
		{&httpxds.Error{}, "httpxds: unknown reason"},
		{&httpxds.Error{Reason: httpxds.NoRoute, Err: io.EOF}, "httpxds: no route: EOF"},
		{&httpxds.Error{Reason: httpxds.NoEndpoint, Cluster: "c"}, `httpxds: cluster "c": no endpoint`},
		{&httpxds.Error{Reason: httpxds.Dropped, Route: "a\nb", Cluster: "c"}, `httpxds: route "a\nb": cluster "c": dropped`},
		{&httpxds.Error{Reason: httpxds.Overflow}, "httpxds: overflow"},
		{&httpxds.Error{Reason: httpxds.Timeout}, "httpxds: timeout"},
		{&httpxds.Error{Reason: httpxds.Connect}, "httpxds: connection failed"},
		{&httpxds.Error{Reason: httpxds.Filtered}, "httpxds: ended by an HTTP filter"},
		{
			&httpxds.Error{Reason: httpxds.Reset, Route: "r", Cluster: "c", Endpoint: "10.0.0.1:80", Err: io.ErrUnexpectedEOF},
			`httpxds: route "r": cluster "c": endpoint "10.0.0.1:80": connection reset: unexpected EOF`,
		},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("the text is\n%s, want\n%s", got, tt.want)
		}
		wrapped := &url.Error{Op: "Get", URL: "http://svc", Err: tt.err}
		var found *httpxds.Error
		if !errors.As(wrapped, &found) || found != tt.err {
			t.Errorf("%v: the error of http.Client does not contain it", tt.err)
		}
		if got, want := wrapped.Timeout(), tt.err.Reason == httpxds.Timeout; got != want {
			t.Errorf("%v: Timeout() of the error of http.Client is %t, want %t", tt.err, got, want)
		}
		if tt.err.Err != nil && !errors.Is(wrapped, tt.err.Err) {
			t.Errorf("%v: the error does not contain its cause", tt.err)
		}
	}
}
