package headermutation

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/headerchange"
)

// A Config changes the headers of requests and responses.
type Config struct {
	Request, Response []headerchange.Change
}

// Filter returns the header mutation filter. An override applies after the configuration. It rejects substitution
// commands, changes of query parameters and trailers, and removal by a matcher, which are not supported.
func Filter() *resource.HTTPFilter {
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
		Override: "envoy.extensions.filters.http.header_mutation.v3.HeaderMutationPerRoute",
		Sides:    resource.ServerSide | resource.ClientSide,
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(headermutationv3.HeaderMutation)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			return read(m.GetMutations())
		},
		ParseOverride: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(headermutationv3.HeaderMutationPerRoute)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			return read(m.GetMutations())
		},
	}
}

func read(m *headermutationv3.Mutations) (any, error) {
	var v resource.Violations
	p := (*resource.Path)(nil).Field("mutations")
	unsupported := func(field string, n int) {
		if n > 0 {
			v.Add(p.Field(field), nil, "must not be set, because it is not supported")
		}
	}
	unsupported("query_parameter_mutations", len(m.GetQueryParameterMutations()))
	unsupported("request_trailers_mutations", len(m.GetRequestTrailersMutations()))
	unsupported("response_trailers_mutations", len(m.GetResponseTrailersMutations()))
	unsupported("formatters", len(m.GetFormatters()))
	return Config{
		Request:  changes(&p, "request_mutations", m.GetRequestMutations(), &v),
		Response: changes(&p, "response_mutations", m.GetResponseMutations(), &v),
	}, v.Err()
}

func changes(p *resource.Path, field string, list []*mutationv3.HeaderMutation, v *resource.Violations) []headerchange.Change {
	var out []headerchange.Change
	for i, m := range list {
		at := p.Item(field, i)
		switch a := m.GetAction().(type) {
		case *mutationv3.HeaderMutation_Remove:
			out = append(out, headerchange.Removal(at.Field("remove"), a.Remove, v))
		case *mutationv3.HeaderMutation_Append:
			if c, ok := headerchange.Option(at.Field("append"), a.Append, v); ok {
				out = append(out, c)
			}
		default:
			v.Add(at, nil, "must have one of remove, append set")
		}
	}
	return out
}
