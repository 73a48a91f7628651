package hookprofiles

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

func validateGRPC(_ *resource.DecodeContext, p resource.Path, m *testpb.Thing, v *resource.Violations) {
	v.Add(p.Field("small"), m.GetSmall(), "is seen in profile gRPC")
}

func validateEnvoy(_ *resource.DecodeContext, p resource.Path, m *testpb.Thing, v *resource.Violations) {
	v.Add(p.Field("small"), m.GetSmall(), "is seen in profile Envoy")
}

func validateHTTP(_ *resource.DecodeContext, p resource.Path, m *testpb.Thing, v *resource.Violations) {
	v.Add(p.Field("small"), m.GetSmall(), "is seen in profile HTTP")
}

func validateActing(_ *resource.DecodeContext, p resource.Path, m *testpb.Thing, v *resource.Violations) {
	v.Add(p.Field("small"), m.GetSmall(), "is seen by programs that act")
}

func validatePart(_ *resource.DecodeContext, p resource.Path, m *testpb.Part, v *resource.Violations) {
	v.Add(p.Field("size"), m.GetSize(), "is seen in profile Envoy")
}
