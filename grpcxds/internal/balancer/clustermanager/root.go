package clustermanager

import (
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/clusterimpl"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/node"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/priority"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A child is what one name that calls have for a cluster stands for.
type child interface {
	// update has it look at the newest state.
	update()
	ExitIdle()
	Close()
}

var errNoLeaves = errors.New("the cluster comes to no other that is there (A37)")

// A root is a cluster that calls are sent to: the clusters that an aggregate comes to, best
// first, or itself (A37, A75).
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

// failed is an error of a cluster. It wraps nothing, so that a control plane's status cannot
// become that of a call (A54).
func failed(name string, err error) error {
	return fmt.Errorf("cluster %s: %s", printable.Quote(name, printable.Short), printable.Text(err.Error(), printable.Whole))
}

// Build starts a leaf; see [priority.Host].
func (r *root) Build(name string, report node.Report) *clusterimpl.Cluster {
	return clusterimpl.New(r.around, name, report)
}

// Configure tells a leaf what it is; see [priority.Host].
func (r *root) Configure(name string, c *clusterimpl.Cluster) {
	config, ok := r.around.State.Config.Clusters[name]
	if !ok {
		config.Err = errUnknown
	}
	c.Update(config)
}

// ExitIdle connects what is idle.
func (r *root) ExitIdle() { r.leaves.ExitIdle() }

// Close closes all leaves.
func (r *root) Close() { r.leaves.Close() }
