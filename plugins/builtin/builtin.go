package builtin

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/certprovider"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
	"github.com/xdsforge/xdsforge/internal/extensions/metadata"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
	"github.com/xdsforge/xdsforge/internal/extensions/statefulsession"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/gcpauthn"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
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
