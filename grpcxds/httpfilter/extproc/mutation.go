package extproc

import (
	"fmt"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
	config "github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

// maxChanges is the limit of each list of changes in a response.
const maxChanges = 1000

// A mutation changes headers or trailers.
type mutation struct {
	set    []grpcheader.Change
	remove []string
}

// readMutation reads the changes that the rules allow. m may be nil.
func readMutation(c *config.Config, m *extprocv3.HeaderMutation) (out mutation, err error) {
	for _, list := range []struct {
		name string
		n    int
	}{{"set_headers", len(m.GetSetHeaders())}, {"remove_headers", len(m.GetRemoveHeaders())}} {
		if list.n > maxChanges {
			return out, fmt.Errorf("%s = %d entries; must have at most %d", list.name, list.n, maxChanges)
		}
	}
	if out.set, err = c.Rules.Changes(m.GetSetHeaders()); err != nil {
		return mutation{}, fmt.Errorf("set_headers: %w", err)
	}
	if out.remove, err = c.Rules.Removals(m.GetRemoveHeaders()); err != nil {
		return mutation{}, fmt.Errorf("remove_headers: %w", err)
	}
	return out, nil
}

// apply returns the changed headers. It does not change md.
func (m *mutation) apply(md metadata.MD) metadata.MD {
	if !m.changes() {
		return md
	}
	out := md.Copy()
	if out == nil {
		out = make(metadata.MD)
	}
	for _, c := range m.set {
		c.Apply(out)
	}
	for _, name := range m.remove {
		delete(out, name)
	}
	return out
}

// changes reports whether apply changes headers.
func (m *mutation) changes() bool { return len(m.set)+len(m.remove) > 0 }
