package sourced

import (
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/files"
)

// Files is the scheme "file". The URI "file:///etc/xds" stands for the resources in that directory,
// with the parameters of [files.OpenURI].
func Files(o files.Options) Scheme {
	return Scheme{Name: "file", Open: func(server *bootstrap.Server) (source.Source, error) {
		o := o
		o.Server = server
		return files.OpenURI(server.URI(), o)
	}}
}
