package resource

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// The kinds of [Error], and the errors of misuse. Compare with errors.Is.
var (
	// ErrNotFound: the resource does not exist. Told by the does-not-exist
	// timer (gRFC A57) or by the control plane.
	ErrNotFound = errors.New("does not exist")
	// ErrRemoved: the resource existed and the control plane took it away. It
	// is also ErrNotFound.
	ErrRemoved error = removedError{}
	// ErrTimeout: the control plane did not answer in time, and is known to
	// tell when a resource does not exist (gRFC A88,
	// resource_timer_is_transient_error).
	ErrTimeout = errors.New("no answer in time")
	// ErrInvalid: the resource arrived and was rejected.
	ErrInvalid = errors.New("invalid")
	// ErrDenied: the control plane says that the resource is not for this client
	// (xRFC TP3).
	ErrDenied = errors.New("refused by the control plane")
	// ErrUnavailable: the control plane says that it cannot send the resource now
	// (xRFC TP3).
	ErrUnavailable = errors.New("not available from the control plane")
	// ErrTransport: the control plane cannot be reached.
	ErrTransport = errors.New("control plane unreachable")

	// ErrClosed: the client, or the subscription, is closed.
	ErrClosed = errors.New("closed")
	// ErrUnknownType: no plugin for the type is registered.
	ErrUnknownType = errors.New("unknown resource type")
)

// removedError is a kind of ErrNotFound with words of its own.
type removedError struct{}

func (removedError) Error() string { return "removed by the control plane" }

// Is makes errors.Is count a removed resource as not found.
func (removedError) Is(target error) bool { return target == ErrNotFound }

// An Error says what is wrong with one resource, and where it came from.
type Error struct {
	Kind   error      // one of the kinds above
	Type   string     // full name of the message
	Name   xdstp.Name // of the resource
	Server string     // URI of the control plane; empty when none is involved
	NodeID string     // of the bootstrap's node, so that both sides' logs can be matched
	Err    error      // the cause; may be nil
}

// Error prints, for one resource of one server:
//
//	Cluster "checkout": invalid: lb_policy = "MAGLEV"; must be one of … [server 127.0.0.1:18000, node web-1]
//
// Text from the control plane is clipped and escaped: see package printable.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %v", e.Type[strings.LastIndexByte(e.Type, '.')+1:], printable.Quote(e.Name.String(), printable.Quoted), e.Kind)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", printable.Text(e.Err.Error(), printable.Whole))
	}
	if e.Server != "" {
		fmt.Fprintf(&b, " [server %s", e.Server)
		if e.NodeID != "" {
			fmt.Fprintf(&b, ", node %s", e.NodeID)
		}
		b.WriteByte(']')
	}
	return b.String()
}

// Unwrap gives errors.Is and errors.As the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
