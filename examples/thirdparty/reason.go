package main

import (
	"errors"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// reason is why a resource is not to be used, without where it came from.
func reason(err error) error {
	if e, ok := errors.AsType[*resource.Error](err); ok && e.Err != nil {
		return e.Err
	}
	return err
}
