package entries

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

func checkBox(_ *resource.DecodeContext, p resource.Path, m *testpb.Box, v *resource.Violations) {
	if m.GetNote() == "refused" {
		v.Add(p.Field("note"), m.GetNote(), "must not be refused")
	}
}
