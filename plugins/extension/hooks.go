package extension

import (
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// message returns the name of the message that configures the extension. A rule reports a missing type URL.
func message(dc *resource.DecodeContext, config *anypb.Any) (string, error) {
	if config.GetTypeUrl() == "" {
		return "", nil
	}
	c, err := dc.OpenTypedConfig(config)
	return c.Message, err
}

// filter lets the HTTP filter parse its configuration. Outside of profile Envoy, the configuration must be that of a
// registered filter that is not terminal (A104): nobody can reject it later.
func filter(dc *resource.DecodeContext, message string, config *anypb.Any) (any, error) {
	if message == "" {
		return nil, nil //nolint:nilnil // message or a rule reports it
	}
	f, known := dc.Types.HTTPFilter(message)
	proxy := dc.Types.Profile() == resource.Envoy
	at := (*resource.Path)(nil).Field("typed_config")
	var v resource.Violations
	switch {
	case !known && proxy:
		return nil, nil //nolint:nilnil // the extension is of another kind
	case !known:
		v.Add(at, message, "must be of an HTTP filter that is registered (A104)")
	case f.Config != message:
		v.Add(at, message, "must be the configuration of a filter; it is an override (A39)")
	case f.Terminal && !proxy:
		v.Add(at, message, "must not be of a terminal filter; put it into the Listener (A104)")
	default:
		c, err := dc.OpenTypedConfig(config)
		var out any
		if err == nil {
			// Filters inside of this one may run on any side, because the type does not know which side will use it.
			out, err = f.Parse(dc.At(resource.ClientSide|resource.ServerSide), c)
		}
		if err == nil {
			return out, nil
		}
		v.AddError(at, err)
	}
	return nil, v.Err()
}

// sides returns the sides of the filter that parsed the configuration. The result of the filter may be nil.
func sides(dc *resource.DecodeContext, message string) (resource.Side, error) { //nolint:unparam // the type of a hook
	if f, known := dc.Types.HTTPFilter(message); known {
		return f.Sides, nil
	}
	return 0, nil
}
