package composite

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	actionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/matcher/action/v3"
	compositev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// The messages of actions.
const (
	skipFilter    = "envoy.extensions.filters.common.matcher.action.v3.SkipFilter"
	executeFilter = "envoy.extensions.filters.http.composite.v3.ExecuteFilterAction"
)

// perMillion is a share of all calls.
const perMillion = 1_000_000

// A reader decodes the actions of a matcher.
type reader struct {
	dc     *resource.DecodeContext
	v      *resource.Violations
	config *Config
}

// action decodes an action and returns its index.
func (r *reader) action(at resource.Path, c resource.TypedConfig) int {
	p := at.Field("typed_config")
	a := Action{Place: at.String(), PerMillion: perMillion}
	if err := r.dc.Spend(1, len(a.Place)); err != nil {
		r.v.AddError(p, err)
	}
	switch c.Message {
	case skipFilter:
		if err := c.Unmarshal(new(actionv3.SkipFilter)); err != nil {
			r.v.AddError(p, err)
		}
	case executeFilter:
		m := new(compositev3.ExecuteFilterAction)
		if err := c.Unmarshal(m); err != nil {
			r.v.AddError(p, err)
			break
		}
		r.execute(&p, m, &a)
	default:
		r.v.Add(p, c.Message, "must be one of "+executeFilter+", "+skipFilter+" (A103)")
	}
	r.config.Actions = append(r.config.Actions, a)
	return len(r.config.Actions) - 1
}

func (r *reader) execute(p *resource.Path, m *compositev3.ExecuteFilterAction, a *Action) {
	switch {
	case m.GetFilterChain() != nil:
		q := p.Field("filter_chain")
		for i, f := range m.GetFilterChain().GetTypedConfig() {
			a.Filters = append(a.Filters, r.filter(q.Item("typed_config", i), f))
		}
	case m.GetTypedConfig() != nil:
		a.Filters = append(a.Filters, r.filter(p.Field("typed_config"), m.GetTypedConfig()))
	default:
		r.v.Add(*p, nil, "must have one of filter_chain, typed_config set (A103)")
	}
	if s := m.GetSamplePercent(); s != nil {
		q := p.Field("sample_percent.default_value")
		if s.GetDefaultValue() == nil {
			r.v.Add(q, nil, "must be set (A103)")
		}
		a.PerMillion = convert.PerMillion(q, s.GetDefaultValue(), r.v)
	}
}

func (r *reader) filter(p resource.Path, m *corev3.TypedExtensionConfig) Nested {
	message, config, err := r.dc.NestedFilter(m.GetTypedConfig())
	if err != nil {
		r.v.AddError(p.Field("typed_config"), err)
	}
	return Nested{Name: m.GetName(), Message: message, Config: config}
}
