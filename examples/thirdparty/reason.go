package main

import (
	"errors"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// reason returns the reason why a resource is unusable, without its source.
func reason(err error) error {
	if e, ok := errors.AsType[*resource.Error](err); ok && e.Err != nil {
		return e.Err
	}
	return err
}
