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
	// ErrNotFound means that the resource does not exist. Either the does-not-exist timer expired
	// (gRFC A57), or the control plane said so.
	ErrNotFound = errors.New("does not exist")
	// ErrRemoved means that the control plane removed a resource that existed. It is also
	// ErrNotFound.
	ErrRemoved error = removedError{}
	// ErrTimeout means that the control plane did not answer in time. It replaces ErrNotFound for a
	// control plane that reports resources that do not exist (gRFC A88,
	// resource_timer_is_transient_error).
	ErrTimeout = errors.New("no answer in time")
	// ErrInvalid means that the client received the resource and rejected it.
	ErrInvalid = errors.New("invalid")
	// ErrDenied means that the control plane denies this client the resource (xRFC TP3).
	ErrDenied = errors.New("refused by the control plane")
	// ErrUnavailable means that the control plane cannot send the resource now (xRFC TP3).
	ErrUnavailable = errors.New("not available from the control plane")
	// ErrTransport means that the client cannot reach the control plane.
	ErrTransport = errors.New("control plane unreachable")

	// ErrClosed means that the client or the subscription is closed.
	ErrClosed = errors.New("closed")
	// ErrUnknownType means that no plugin for the type is registered.
	ErrUnknownType = errors.New("unknown resource type")
)

// removedError is a kind of ErrNotFound with its own text.
type removedError struct{}

func (removedError) Error() string { return "removed by the control plane" }

// Is makes errors.Is count a removed resource as not found.
func (removedError) Is(target error) bool { return target == ErrNotFound }

// An Error is a problem of one resource, with the server that it came from.
type Error struct {
	Kind   error      // one of the kinds above
	Type   string     // full name of the message
	Name   xdstp.Name // of the resource
	Server string     // URI of the control plane; empty when none is involved
	NodeID string     // of the bootstrap's node, to match the logs of both sides
	Err    error      // the cause; may be nil
}

// Error returns a text with the resource and the server:
//
//	Cluster "checkout": invalid: lb_policy = "MAGLEV"; must be one of … [server 127.0.0.1:18000, node web-1]
//
// It clips and escapes text from the control plane: see package printable.
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

// Unwrap returns the kind and the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
