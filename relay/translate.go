package relay

import (
	"errors"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A verdict is whether a resource exists upstream.
type verdict uint8

const (
	unknown verdict = iota // upstream has not answered
	present                // it exists, or there is an error in its place
	absent
)

// translate returns the resource for a state of the client. An ambient error keeps the resource, apart
// from removals and denials: each downstream client decides for itself whether to use it further.
func translate(k source.Key, s resource.State) (source.Resource, verdict) {
	x := source.Resource{Key: k}
	switch {
	case isAbsent(s.Err):
		return x, absent
	case errors.Is(s.Err, resource.ErrDenied):
		return problem(k, codes.PermissionDenied, s.Err), present
	case s.Update != nil:
		x.Body = s.Update.Raw()
		x.Version = source.Version(&x)
		return x, present
	case s.Err == nil:
		return x, unknown
	}
	return problem(k, codes.Unavailable, s.Err), present
}

func isAbsent(err error) bool { return errors.Is(err, resource.ErrNotFound) }

// problem returns an error in the place of a resource (xRFC TP3).
func problem(k source.Key, code codes.Code, err error) source.Resource {
	x := source.Resource{Key: k, Err: &rpcstatus.Status{
		Code: int32(code), Message: printable.Text(err.Error(), printable.Quoted), //nolint:gosec // a small number
	}}
	x.Version = source.Version(&x)
	return x
}
