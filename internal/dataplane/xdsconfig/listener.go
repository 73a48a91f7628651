package xdsconfig

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// CheckListener returns an error if a name that the bootstrap's template made cannot name a Listener.
func CheckListener(c *bootstrap.Config, name xdstp.Name) error {
	if err := name.CheckType(listener.Type().Name()); err != nil {
		return fmt.Errorf("the bootstrap's template makes the name %q: %w", name, err)
	}
	_, err := c.ServersFor(name)
	return err
}
