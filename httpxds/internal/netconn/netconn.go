// Package netconn has functions for the connections of HTTP clients and of servers.
package netconn

import (
	"errors"
	"fmt"
)

// CloseWrite ends the sending direction of a connection or of a stream. It returns an error that is errors.ErrUnsupported if
// the connection has no directions of its own.
func CloseWrite(c any) error {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return fmt.Errorf("httpxds: CloseWrite of a %T: %w", c, errors.ErrUnsupported)
}
