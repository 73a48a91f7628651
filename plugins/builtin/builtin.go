package builtin

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/certprovider"
	"github.com/xdsforge/xdsforge/internal/extensions/lbpolicy"
	"github.com/xdsforge/xdsforge/internal/extensions/metadata"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/fault"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/gcpauthn"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/statefulsession"
)

// Register registers the built-in extensions. If the program registers another extension
// for the same configuration, that one is used.
func Register(r resource.Registrar) {
	r.Fill(router.Filter())
	r.Fill(forEnvoy(fault.Filter()))
	r.Fill(forEnvoy(rbac.Filter()))
	r.Fill(forEnvoy(gcpauthn.Filter()))
	r.Fill(forEnvoy(extauthz.Filter(nil)))
	r.Fill(forEnvoy(extproc.Filter(nil)))
	r.Fill(forEnvoy(statefulsession.Filter()))
	r.Fill(gcpauthn.Metadata())
	r.Fill(metadata.Address())
	r.Fill(certprovider.FileWatcher())
	r.Fill(composite.Filter())
	lbpolicy.Register(r)
}
