package cel

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// Register registers the matcher for the message xds.type.matcher.v3.CelMatcher.
func Register(r resource.Registrar) {
	env, err := newEnv()
	r.Extend(&resource.InputMatcher{
		Message: "xds.type.matcher.v3.CelMatcher",
		Input:   "xds.type.matcher.v3.HttpAttributesCelMatchInput",
		Parse: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			if err != nil {
				return nil, err
			}
			m := new(matcherv3.CelMatcher)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			return read(dc, env, m)
		},
	})
}

// An evaluator evaluates an expression.
type evaluator struct{ program cel.Program }

// read decodes a matcher. It ignores the other forms of expressions beside the checked one, but for text (A106).
func read(dc *resource.DecodeContext, env *cel.Env, m *matcherv3.CelMatcher) (matchtree.Custom, error) {
	var v resource.Violations
	at := (*resource.Path)(nil).Field("expr_match")
	if m.GetExprMatch().GetCelExprString() != "" {
		v.Add(at.Field("cel_expr_string"), nil, "must not be set; the control plane must check expressions (A106)")
	}
	p := at.Field("cel_expr_checked")
	if m.GetExprMatch().GetCelExprChecked().GetExpr() == nil {
		v.Add(p, nil, "must be set (A106)")
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	program, err := compile(dc, env, m.GetExprMatch().GetCelExprChecked().GetExpr())
	if err != nil {
		v.AddError(p, err)
		return nil, v.Err()
	}
	return &evaluator{program}, nil
}

// Match implements [matchtree.Custom]. An expression that fails does not match.
func (m *evaluator) Match(c *matchtree.Call) bool {
	out, _, err := m.program.Eval(variables{c})
	return err == nil && out == types.True
}
