package resource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// maxLBDepth is the limit of nested LB policies (gRFC A52).
const maxLBDepth = 16

// An LBConfig is a gRPC LB policy with its configuration, as in a service config. Equal values
// configure the same policy.
type LBConfig struct {
	// Name is the name of the policy, such as "round_robin". If it is empty, there is no policy.
	Name string
	// Config is the configuration, a JSON object.
	Config string
}

// MarshalJSON returns a service config's list of LB configs, with one entry: [{"round_robin":{}}].
func (c LBConfig) MarshalJSON() ([]byte, error) { return []byte(c.List("", "")), nil }

// List returns the JSON of [LBConfig.MarshalJSON] between before and after, two parts of the parent
// policy's configuration.
func (c LBConfig) List(before, after string) string {
	name, config := c.Name, c.Config
	if config == "" {
		config = "null"
	}
	if !plain(name) {
		quoted, _ := json.Marshal(name) //nolint:errchkjson // a string can always be written
		return before + "[{" + string(quoted) + ":" + config + "}]" + after
	}
	return before + `[{"` + name + `":` + config + "}]" + after
}

// plain reports whether a text needs no escapes in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// NewLBConfig returns the configuration of a policy. The value config must marshal to a JSON
// object.
func NewLBConfig(name string, config any) (LBConfig, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return LBConfig{}, fmt.Errorf("resource: configuration of %s: %w", name, err)
	}
	return LBConfig{Name: name, Config: string(text)}, nil
}

// An LBPolicy registers an LB policy (gRFC A52).
type LBPolicy struct {
	// Config is the full name of the message that configures the policy. For a policy that a
	// TypedStruct configures, it is the policy's name in gRPC.
	Config string
	// Named means that Config is a name in gRPC, and that only a TypedStruct configures the policy.
	// It is implied if Convert is nil.
	Named bool
	// Convert validates a configuration and translates it to gRPC's form. It calls children for
	// nested policies. The result may depend on nothing else: clusters with equal policies share it.
	// If Convert is nil, the policy's name in gRPC is Config, and its configuration is the content
	// of the TypedStruct.
	Convert func(c TypedConfig, children LBChildren) (LBConfig, error)
}

// LBChildren converts the child policies of a policy. The argument is an encoded
// envoy.config.cluster.v3.LoadBalancingPolicy. LBChildren converts its first registered policy. It
// fails if none is registered, or if the policies are nested too deeply.
type LBChildren func(policies []byte) (LBConfig, error)

func (p *LBPolicy) keys() []extensionKey { return []extensionKey{{pointLBPolicy, p.Config}} }

func (p *LBPolicy) half() Extension { return p }

func (p *LBPolicy) check() error {
	if p == nil || p.Config == "" {
		return errors.New("resource: an LBPolicy needs Config")
	}
	return nil
}

// LBPolicy converts the first registered policy of an encoded
// envoy.config.cluster.v3.LoadBalancingPolicy. It fails if no policy is registered, if the first
// registered one is invalid, and if more than 16 policies are nested (gRFC A52). The paths of a
// [*ValidationError] start with "policies". The caller must not change policies afterwards.
func (dc *DecodeContext) LBPolicy(policies []byte) (LBConfig, error) {
	last := &dc.lastPolicy
	if last.types == dc.Types && last.config.Name != "" && bytes.Equal(last.policies, policies) {
		return last.config, nil
	}
	c, err := dc.lbPolicy(policies, 1)
	if err == nil {
		*last = lastPolicy{types: dc.Types, policies: policies, config: c}
	}
	return c, err
}

// A lastPolicy is the last policy that was converted. Most clusters of a control plane have the
// same one. Without it, a cluster with wrr_locality and TLS takes a third more time to decode.
// A shared policy costs nothing of [Limits].
type lastPolicy struct {
	types    *Set
	policies []byte
	config   LBConfig
}

func (dc *DecodeContext) lbPolicy(policies []byte, depth int) (LBConfig, error) {
	if depth > maxLBDepth {
		return LBConfig{}, fmt.Errorf("must not nest more than %d policies (A52)", maxLBDepth)
	}
	var unknown []string
	r := wire.Read(policies)
	for i := 0; r.Next(); {
		if r.Tag() != 1<<3|wire.Len { // policies
			r.Skip()
			continue
		}
		extension := wire.Field(r.Bytes(), 4) // typed_extension_config
		c, err := dc.OpenEncodedConfig(wire.Field(extension, 2))
		if err != nil {
			return LBConfig{}, at(policyPath(i), err)
		}
		if p, ok := dc.Types.LBPolicy(c.Message); ok && p.configuredBy(c) {
			config, err := dc.convert(p, c, depth)
			if err != nil {
				err = at(policyPath(i), err)
			}
			return config, err
		}
		unknown = append(unknown, c.Message)
		i++
	}
	var v Violations
	v.Add((*Path)(nil).Field("policies"), unknown, "must have a policy that is registered (A52)")
	return LBConfig{}, v.Err()
}

// configuredBy reports whether a configuration can belong to the policy. The type in a TypedStruct
// is the name of a policy in gRPC, never a message (A52).
func (p *LBPolicy) configuredBy(c TypedConfig) bool {
	if p.Convert == nil {
		return true // convert rejects messages
	}
	return p.Named == (c.Fields != nil)
}

func (dc *DecodeContext) convert(p *LBPolicy, c TypedConfig, depth int) (LBConfig, error) {
	if p.Convert != nil {
		return p.Convert(c, func(policies []byte) (LBConfig, error) { return dc.lbPolicy(policies, depth+1) })
	}
	if c.Fields == nil {
		return LBConfig{}, errors.New("must be in a TypedStruct (A52)")
	}
	return NewLBConfig(p.Config, c.Fields)
}

func policyPath(i int) Path {
	policies := (*Path)(nil).Item("policies", i)
	extension := policies.Field("typed_extension_config")
	return extension.Field("typed_config")
}

// at puts an error below a path. It returns nil for nil.
func at(p Path, err error) error {
	if err == nil {
		return nil
	}
	var v Violations
	v.AddError(p, err)
	return v.Err()
}
