package builtin

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/certprovider"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/gcpauthn"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/router"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/statefulsession"
	"github.com/xdsforge/xdsforge/plugins/lbpolicy"
	"github.com/xdsforge/xdsforge/plugins/metadata"
)

// Register makes the built-in extensions known.
func Register(r resource.Registrar) {
	r.Extend(router.Filter())
	r.Extend(fault.Filter())
	r.Extend(rbac.Filter())
	r.Extend(gcpauthn.Filter())
	r.Extend(statefulsession.Filter())
	r.Extend(gcpauthn.Metadata())
	r.Extend(metadata.Address())
	r.Extend(certprovider.FileWatcher())
	lbpolicy.Register(r)
}
