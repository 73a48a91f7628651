package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// clusters parses lines of the form "name: children". A cluster without children is a leaf.
func clusters(t *testing.T, lines ...string) func(string) (*cluster.Update, error) {
	t.Helper()
	all := make(map[string]*cluster.Update)
	for _, line := range lines {
		name, children, _ := strings.Cut(line, ":")
		text := fmt.Sprintf(`name: %q type: EDS eds_cluster_config { eds_config { ads {} } }`, name)
		if children != "" {
			text = fmt.Sprintf(`name: %q cluster_type { typed_config { [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { %s } } }`,
				name, "clusters: '"+strings.Join(strings.Fields(children), "' clusters: '")+"'")
		}
		all[name] = decode(t, text)
	}
	return func(name string) (*cluster.Update, error) {
		if u, ok := all[name]; ok {
			return u, nil
		}
		return nil, resource.ErrNotFound
	}
}

func TestLeaves(t *testing.T) {
	var chain []string // c0 is nested 16 deep, and d adds one level
	for i := range 15 {
		chain = append(chain, fmt.Sprintf("c%d: c%d", i, i+1))
	}
	chain = append(chain, "c15:", "d: c0")
	for _, test := range []struct {
		lines []string
		root  string
		want  []string
		err   error
	}{
		{[]string{"a:"}, "a", []string{"a"}, nil},
		{[]string{"a: b c", "b:", "c: d e", "d:", "e:"}, "a", []string{"b", "d", "e"}, nil},
		{[]string{"a: b c b", "b:", "c: b d", "d:"}, "a", []string{"b", "d"}, nil},
		{[]string{"a: b gone", "b:"}, "a", []string{"b"}, nil},
		{[]string{"a: a b", "b: a c", "c:"}, "a", []string{"c"}, nil},
		{[]string{"a: b", "b: a"}, "a", nil, cluster.ErrNoLeaves},
		{[]string{"a: gone"}, "a", nil, cluster.ErrNoLeaves},
		{chain, "c0", []string{"c15"}, nil},
		{chain, "d", nil, cluster.ErrTooDeep},
	} {
		lookup := clusters(t, test.lines...)
		root, err := lookup(test.root)
		if err != nil {
			t.Fatal(err)
		}
		leaves, err := root.Leaves(lookup)
		var got []string
		for _, l := range leaves {
			got = append(got, l.Name().String())
		}
		if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%q of %q: %q, %v; want %q, %v", test.root, test.lines, got, err, test.want, test.err)
		}
	}
}
