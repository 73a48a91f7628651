package xdsforge

import "github.com/xdsforge/xdsforge/framework/resource"

// The kinds of errors. Compare with errors.Is.
var (
	// ErrNotFound says that a resource does not exist: the control plane says so, or it did not
	// send the resource in time (gRFC A57).
	ErrNotFound = resource.ErrNotFound
	// ErrRemoved says that a resource existed and the control plane removed it. It is also
	// ErrNotFound.
	ErrRemoved = resource.ErrRemoved
	// ErrTimeout says that the control plane did not answer in time, and reports missing
	// resources otherwise (gRFC A88).
	ErrTimeout = resource.ErrTimeout
	// ErrInvalid says that the client rejected the resource.
	ErrInvalid = resource.ErrInvalid
	// ErrDenied says that this client may not have the resource (xRFC TP3).
	ErrDenied = resource.ErrDenied
	// ErrUnavailable says that the control plane cannot send the resource at present (xRFC TP3).
	ErrUnavailable = resource.ErrUnavailable
	// ErrTransport says that the client cannot reach the control plane.
	ErrTransport = resource.ErrTransport
	// ErrClosed says that the client or the Env is closed.
	ErrClosed = resource.ErrClosed
	// ErrUnknownType says that the resource type is not registered. See [WithTypes].
	ErrUnknownType = resource.ErrUnknownType
)
