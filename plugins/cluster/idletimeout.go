package cluster

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// defaultIdleTimeout is the default of IdleTimeout (A75).
const defaultIdleTimeout = time.Hour

// idleTimeout returns the idle timeout in the encoded TypedExtensionConfig of upstream_config (A75). In profiles gRPC and HTTP,
// that must be an HttpProtocolOptions. Profile Envoy ignores other messages.
func idleTimeout(dc *resource.DecodeContext, extension []byte) (time.Duration, error) {
	if extension == nil {
		return defaultIdleTimeout, nil
	}
	var v resource.Violations
	p := (*resource.Path)(nil).Field("typed_config")
	config, err := protocolOptionsIn(dc, extension)
	switch {
	case dc.Types.Profile() == resource.Envoy && (err != nil || config == nil):
		return defaultIdleTimeout, nil //nolint:nilerr // such messages are for proxies
	case err != nil:
		v.AddError(p, err)
	case config == nil:
		v.Add(p, nil, "must be a "+protocolOptions+" (A75)")
	default:
		return idleTimeoutOf(dc, &p, config, &v), v.Err()
	}
	return 0, v.Err()
}

// protocolOptionsIn returns the encoded HttpProtocolOptions of a TypedExtensionConfig, or nil if it has another message.
func protocolOptionsIn(dc *resource.DecodeContext, extension []byte) ([]byte, error) {
	encoded := wire.Field(extension, 2)
	config, err := dc.OpenEncodedConfig(encoded)
	if err != nil || config.Message != protocolOptions || config.Fields != nil {
		return nil, err
	}
	a := new(anypb.Any)
	if err := dc.Unmarshal(encoded, a); err != nil {
		return nil, err
	}
	if a.GetValue() == nil {
		return []byte{}, nil
	}
	return a.GetValue(), nil
}

// idleTimeoutOf reads an encoded HttpProtocolOptions by field numbers, so that programs need not link the message.
func idleTimeoutOf(dc *resource.DecodeContext, p *resource.Path, config []byte, v *resource.Violations) time.Duration {
	r := dc.Reader(config)
	for r.Next() {
		r.Skip()
	}
	if !r.OK() {
		v.Add(*p, nil, "must be a well-formed "+protocolOptions)
		return 0
	}
	common := new(corev3.HttpProtocolOptions)
	options := p.Field("common_http_protocol_options")
	if err := dc.Unmarshal(wire.Field(config, 1), common); err != nil {
		v.AddError(options, err)
		return 0
	}
	if common.GetIdleTimeout() == nil {
		return defaultIdleTimeout
	}
	at := options.Field("idle_timeout")
	idle := convert.Duration(at, common.GetIdleTimeout(), v)
	if idle < 0 {
		v.Add(at, idle, "must be at least 0s (A75)")
	}
	return idle
}
