package builtin

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// forEnvoy returns a filter that accepts more in profile Envoy: a configuration that the filter rejects, but that
// follows the rules of its own message. Envoy supports more than gRPC, such as services in its own clusters. The
// result is then the received message, as for filters that are not registered.
func forEnvoy(f *resource.HTTPFilter) *resource.HTTPFilter {
	out := *f
	out.Parse = orReceived(f.Parse)
	if f.ParseOverride != nil {
		out.ParseOverride = orReceived(f.ParseOverride)
	}
	return &out
}

type parser = func(*resource.DecodeContext, resource.TypedConfig) (any, error)

func orReceived(parse parser) parser {
	return func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
		out, err := parse(dc, c)
		if err == nil || dc.Types.Profile() != resource.Envoy {
			return out, err
		}
		if received, ok := received(c); ok {
			return received, nil
		}
		return out, err
	}
}

// received returns the message of a configuration, if the message follows its own rules.
func received(c resource.TypedConfig) (_ *anypb.Any, ok bool) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(c.Message))
	if err != nil {
		return nil, false
	}
	m := t.New().Interface()
	if c.Unmarshal(m) != nil {
		return nil, false
	}
	var v resource.Violations
	v.AddMessage(resource.Path{}, m)
	if v.Err() != nil {
		return nil, false
	}
	out := new(anypb.Any)
	err = anypb.MarshalFrom(out, m, proto.MarshalOptions{Deterministic: true})
	return out, err == nil
}
