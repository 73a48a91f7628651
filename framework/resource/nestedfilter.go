package resource

import (
	"fmt"

	"google.golang.org/protobuf/types/known/anypb"
)

// maxFilterDepth is the limit of nested HTTP filters (gRFC A103).
const maxFilterDepth = 8

// NestedFilter decodes the configuration of an HTTP filter inside the configuration of another one,
// such as a composite filter. The filter must be registered for the context's [DecodeContext.Side],
// and must not be terminal. No more than 8 filters may be nested (gRFC A103).
func (dc *DecodeContext) NestedFilter(a *anypb.Any) (message string, config any, err error) {
	c, err := dc.OpenTypedConfig(a)
	if err != nil {
		return "", nil, err
	}
	var v Violations
	f, known := dc.Types.HTTPFilter(c.Message)
	switch {
	case dc.filters >= maxFilterDepth-1:
		v.Add(Path{}, c.Message, fmt.Sprintf("must not nest more than %d HTTP filters (A103)", maxFilterDepth))
	case !known || f.Sides&dc.Side() == 0:
		v.Add(Path{}, c.Message, "must be of an HTTP filter that is registered for a "+dc.Side().String()+" (A103)")
	case f.Config != c.Message:
		v.Add(Path{}, c.Message, "must be the configuration of an HTTP filter; it is an override (A39)")
	case f.Terminal:
		v.Add(Path{}, c.Message, "must not be a terminal HTTP filter (A103)")
	}
	if err := v.Err(); err != nil {
		return "", nil, err
	}
	inner := *dc
	inner.filters++
	config, err = f.Parse(&inner, c)
	return c.Message, config, err
}
