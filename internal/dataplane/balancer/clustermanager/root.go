package clustermanager

import (
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clusterimpl"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/priority"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A child is the policy of an entry.
type child interface {
	// update applies the newest state.
	update()
	ExitIdle()
	Close()
}

var errNoLeaves = errors.New("the cluster comes to no other that is there (A37)")

// A root is a target cluster: the leaf clusters of an aggregate, in order of preference, or the
// cluster itself (A37, A75).
type root struct {
	around *clusterimpl.Around
	name   string
	report node.Report
	leaves *priority.Policy[*clusterimpl.Cluster]
}

func newRoot(around *clusterimpl.Around, name string, report node.Report) *root {
	r := &root{around: around, name: name, report: report}
	r.leaves = priority.New(around.Loop, r, report)
	return r
}

func (r *root) update() {
	c, ok := r.around.State.Config.Clusters[r.name]
	leaves := c.Leaves
	var err error
	switch {
	case !ok:
		err = errUnknown
	case c.Err != nil:
		err = c.Err
	case leaves == nil:
		leaves = []string{r.name}
	case len(leaves) == 0:
		err = errNoLeaves
	}
	if err != nil {
		r.leaves.Update(nil)
		r.report(node.Failure(failed(r.name, err)))
		return
	}
	r.leaves.Update(leaves)
}

// failed returns an error of a cluster. It wraps nothing, so that a control plane's status does not
// become the status of a call (A54).
func failed(name string, err error) error {
	return fmt.Errorf("cluster %s: %s", printable.Quote(name, printable.Short), printable.Text(err.Error(), printable.Whole))
}

// Build implements [priority.Host]. It starts a leaf.
func (r *root) Build(name string, report node.Report) *clusterimpl.Cluster {
	return clusterimpl.New(r.around, name, report)
}

// Configure implements [priority.Host]. It updates a leaf.
func (r *root) Configure(name string, c *clusterimpl.Cluster) {
	config, ok := r.around.State.Config.Clusters[name]
	if !ok {
		config.Err = errUnknown
	}
	c.Update(config)
}

// ExitIdle connects idle endpoints.
func (r *root) ExitIdle() { r.leaves.ExitIdle() }

// Close closes all leaves.
func (r *root) Close() { r.leaves.Close() }
