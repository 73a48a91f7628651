// Package decision reads the responses of authorization servers (gRFC A92).
package decision

import (
	"errors"
	"fmt"
	"net/http"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
)

// maxChanges is the limit of changes in each list of headers of a response.
const maxChanges = 1000

// ErrDisallowed is the kind of error for a response that changes a header against the rules, if disallow_is_error is set.
var ErrDisallowed = grpcheader.ErrDisallowed

// ErrDenied is the kind of error for a response that denies the call, but is invalid otherwise. A server may quote the caller.
var ErrDenied = errors.New("the response denies the call")

// A Decision is a valid response of an authorization server.
type Decision struct {
	// Allowed allows the call.
	Allowed bool
	// Code is the gRPC status code of a call that is not allowed. It is not OK.
	Code uint32
	// Message is the text of the response's status.
	Message string

	request, response []grpcheader.Change // of allowed calls: of the headers of the request and of the response
	remove            []string            // from the headers of the request
	trailers          []grpcheader.Change // of other calls
}

// Decide reads a response by the rules of the configuration. If a part of the response is invalid, the error names it. Then no
// part may be used.
func Decide(c *extauthz.Config, m *authv3.CheckResponse) (*Decision, error) {
	d := &Decision{Allowed: m.GetStatus().GetCode() == 0, Message: m.GetStatus().GetMessage()}
	var err error
	if !d.Allowed {
		denied := m.GetDeniedResponse()
		d.Code = fault.CodeOf(http.StatusForbidden)
		if s := denied.GetStatus(); s.GetCode() != 0 {
			d.Code = fault.CodeOf(uint32(s.GetCode())) //nolint:gosec // a negative number maps to UNKNOWN
		}
		if d.trailers, err = changes(c, "denied_response.headers", denied.GetHeaders()); err != nil {
			return nil, fmt.Errorf("%w (%w)", err, ErrDenied)
		}
		return d, nil
	}
	ok := m.GetOkResponse()
	if d.request, err = changes(c, "ok_response.headers", ok.GetHeaders()); err != nil {
		return nil, err
	}
	if d.response, err = changes(c, "ok_response.response_headers_to_add", ok.GetResponseHeadersToAdd()); err != nil {
		return nil, err
	}
	if n := len(ok.GetHeadersToRemove()); n > maxChanges {
		return nil, tooMany("ok_response.headers_to_remove", n)
	}
	if d.remove, err = c.Rules.Removals(ok.GetHeadersToRemove()); err != nil {
		return nil, fmt.Errorf("ok_response.headers_to_remove: %w", err)
	}
	return d, nil
}

func changes(c *extauthz.Config, field string, list []*corev3.HeaderValueOption) ([]grpcheader.Change, error) {
	if len(list) > maxChanges {
		return nil, tooMany(field, len(list))
	}
	out, err := c.Rules.Changes(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return out, nil
}

func tooMany(field string, n int) error {
	return errors.New(field + fmt.Sprintf(" = %d entries; must have at most %d", n, maxChanges))
}

// ChangesRequest reports whether Request changes headers.
func (d *Decision) ChangesRequest() bool { return len(d.request)+len(d.remove) > 0 }

// Request applies the changes to the headers of the request: first those that add, then those that remove.
func (d *Decision) Request(md map[string][]string) {
	apply(d.request, md)
	for _, name := range d.remove {
		delete(md, name)
	}
}

// ChangesResponse reports whether Response changes headers.
func (d *Decision) ChangesResponse() bool { return len(d.response) > 0 }

// Response applies the changes to the headers of the response.
func (d *Decision) Response(md map[string][]string) { apply(d.response, md) }

// Trailers returns the trailers of a call that is not allowed, or nil.
func (d *Decision) Trailers() map[string][]string {
	if len(d.trailers) == 0 {
		return nil
	}
	md := make(map[string][]string, len(d.trailers))
	apply(d.trailers, md)
	return md
}

func apply(changes []grpcheader.Change, md map[string][]string) {
	for _, c := range changes {
		c.Apply(md)
	}
}
