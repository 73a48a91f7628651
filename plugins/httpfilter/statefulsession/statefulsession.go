package statefulsession

import (
	"time"

	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// A Config is the cookie that keeps a session on its endpoint. A Config without a name
// disables the filter, which lets a route switch it off.
type Config struct {
	Name string
	Path string        // the path of the calls that get the cookie; default "/"
	TTL  time.Duration // lifetime of the cookie; 0 means a session cookie
}

// Filter returns the stateful session filter.
func Filter() *resource.HTTPFilter {
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.filters.http.stateful_session.v3.StatefulSession",
		Override: "envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute",
		Sides:    resource.ClientSide,
		Parse: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(statefulsessionv3.StatefulSession)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			var v resource.Violations
			return read(dc, resource.Path{}, m, &v), v.Err()
		},
		ParseOverride: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(statefulsessionv3.StatefulSessionPerRoute)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			if m.GetStatefulSession() == nil {
				return Config{}, nil
			}
			var v resource.Violations
			return read(dc, (*resource.Path)(nil).Field("stateful_session"), m.GetStatefulSession(), &v), v.Err()
		},
	}
}

func read(dc *resource.DecodeContext, p resource.Path, m *statefulsessionv3.StatefulSession, v *resource.Violations) Config {
	if m.GetSessionState() == nil {
		return Config{} // Envoy's API: the filter is off
	}
	at := p.Field("session_state.typed_config")
	c, err := dc.OpenTypedConfig(m.GetSessionState().GetTypedConfig())
	state := new(cookiev3.CookieBasedSessionState)
	if err == nil {
		err = c.Unmarshal(state)
	}
	if err != nil {
		v.AddError(at, err)
		return Config{}
	}
	out := Config{Name: state.GetCookie().GetName(), Path: state.GetCookie().GetPath()}
	if out.Name == "" {
		v.Add(at.Field("cookie.name"), "", "must be set (A55)")
	}
	if out.Path == "" {
		out.Path = "/"
	}
	if out.TTL = convert.Duration(at.Field("cookie.ttl"), state.GetCookie().GetTtl(), v); out.TTL < 0 {
		v.Add(at.Field("cookie.ttl"), out.TTL, "must be at least 0s (A55)")
	}
	return out
}
