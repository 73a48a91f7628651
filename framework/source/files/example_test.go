package files_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/files"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/registry"
)

// A printer prints the resources of a session.
type printer struct{ complete chan struct{} }

func (p printer) Apply(c source.Change) error {
	for _, r := range c.Put {
		fmt.Println(r.Type, r.Name)
	}
	if len(c.Complete) > 0 {
		close(p.complete)
	}
	return nil
}

func (printer) State(s source.State) { fmt.Println(s.Kind) }

// A directory with one file, and a reader that wants one cluster.
func Example() {
	path, err := os.MkdirTemp("", "xds")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(path)
	text := "\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: checkout\ntype: EDS\neds_cluster_config: {eds_config: {ads: {}}}\n"
	if err := os.WriteFile(filepath.Join(path, "clusters.yaml"), []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	r := registry.New()
	cluster.Register(r)
	types, err := r.Freeze()
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := files.Open(path, files.Options{Types: types})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dir.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := printer{make(chan struct{})}
	session, err := dir.Open(ctx, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	session.Want([]source.Interest{{Type: cluster.Type().URL(), Name: "checkout"}}, nil)
	<-p.complete
	// Output:
	// live
	// type.googleapis.com/envoy.config.cluster.v3.Cluster checkout
}
