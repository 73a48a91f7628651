package xdsctl

import (
	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
	"github.com/xdsforge/xdsforge/plugins/runtimelayer"
	"github.com/xdsforge/xdsforge/plugins/scopedroute"
	"github.com/xdsforge/xdsforge/plugins/secret"
	"github.com/xdsforge/xdsforge/plugins/virtualhost"
)

// registered returns the function that registers the types of the program, and those of this module
// that the program does not register itself.
func (a *app) registered() func(xdsforge.Registrar) {
	return func(r xdsforge.Registrar) {
		own := &watchful{Registrar: r, known: make(map[string]bool)}
		for _, register := range a.types {
			register(own)
		}
		others := &others{own}
		grpcxds.Register(others)
		extension.Register(others)
		lbendpoint.Register(others)
		runtimelayer.Register(others)
		scopedroute.Register(others)
		secret.Register(others)
		virtualhost.Register(others)
	}
}

// watchful is a registrar that knows the types that were registered.
type watchful struct {
	xdsforge.Registrar
	known map[string]bool
}

// Register implements [xdsforge.Registrar].
func (w *watchful) Register(t resource.Type) {
	if d := resource.Describe(t); d != nil {
		w.known[d.Name] = true
	}
	w.Registrar.Register(t)
}

// others is a registrar that leaves out types that the program registered.
type others struct{ *watchful }

// Register implements [xdsforge.Registrar].
func (o *others) Register(t resource.Type) {
	if d := resource.Describe(t); d == nil || !o.known[d.Name] {
		o.watchful.Register(t)
	}
}
