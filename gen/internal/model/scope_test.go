package model_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

func TestSameCond(t *testing.T) {
	conds := map[string]model.Cond{
		"none":      {},
		"present":   {Tests: []model.Test{{Kind: model.Present}}},
		"absent":    {Tests: []model.Test{{Kind: model.Absent}}},
		"set":       {Tests: []model.Test{{Kind: model.Equals, Value: model.Literal{Text: "set"}}}},
		"both":      {Tests: []model.Test{{Kind: model.Present}, {Kind: model.Absent}}},
		"xdstp":     {Context: model.Context{Xdstp: new(true)}},
		"not xdstp": {Context: model.Context{Xdstp: new(false)}},
		"profile":   {Context: model.Context{Profile: "envoy"}},
		"side":      {Context: model.Context{Side: "client"}},
	}
	for a, x := range conds {
		for b, y := range conds {
			if y.Xdstp != nil {
				y.Xdstp = new(*y.Xdstp) // not the same pointer
			}
			if got, want := model.SameCond(x, y), a == b; got != want {
				t.Errorf("SameCond(%s, %s) = %v; want %v", a, b, got, want)
			}
		}
	}
}
