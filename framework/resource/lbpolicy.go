package resource

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// maxLBDepth is how many LB policies may be nested (gRFC A52).
const maxLBDepth = 16

// An LBConfig is an LB policy of gRPC with its configuration, as a service config
// has them. Two are alike where they are equal.
type LBConfig struct {
	// Name is the policy's, such as "round_robin". Empty: there is no policy.
	Name string
	// Config is its configuration, a JSON object.
	Config string
}

// MarshalJSON writes what a service config calls a list of LB configs, with one
// entry: [{"round_robin":{}}].
func (c LBConfig) MarshalJSON() ([]byte, error) { return []byte(c.List("", "")), nil }

// List is the JSON that [LBConfig.MarshalJSON] writes, between two other parts of the
// configuration of the policy that this one is below.
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

// plain reports whether a text stands for itself in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// NewLBConfig makes the configuration of a policy of any value that becomes a JSON
// object.
func NewLBConfig(name string, config any) (LBConfig, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return LBConfig{}, fmt.Errorf("resource: configuration of %s: %w", name, err)
	}
	return LBConfig{Name: name, Config: string(text)}, nil
}

// An LBPolicy makes an LB policy known (gRFC A52).
type LBPolicy struct {
	// Config is the full name of the message that configures it, or, of a policy
	// that a TypedStruct configures, the policy's name in gRPC.
	Config string
	// Named says that Config is a name in gRPC, and that only a TypedStruct
	// configures the policy. Without Convert, that is so in any case.
	Named bool
	// Convert validates a configuration and says it in gRPC's terms. It calls
	// children for the policies in it. Nil is a policy whose name in gRPC is
	// Config, and whose configuration is what the TypedStruct has.
	Convert func(c TypedConfig, children LBChildren) (LBConfig, error)
}

// LBChildren converts the policies below another, an encoded
// envoy.config.cluster.v3.LoadBalancingPolicy: the first of those that are known. It
// fails when none is, or when they are nested too deeply.
type LBChildren func(policies []byte) (LBConfig, error)

func (p *LBPolicy) keys() []extensionKey { return []extensionKey{{pointLBPolicy, p.Config}} }

func (p *LBPolicy) half() Extension { return p }

func (p *LBPolicy) check() error {
	if p == nil || p.Config == "" {
		return errors.New("resource: an LBPolicy needs Config")
	}
	return nil
}

// LBPolicy converts the first policy that is known of an encoded
// envoy.config.cluster.v3.LoadBalancingPolicy. It is an error when none is, when the
// first one known is invalid, and when more than 16 are nested (gRFC A52). A
// [*ValidationError] has paths that start with "policies".
func (dc *DecodeContext) LBPolicy(policies []byte) (LBConfig, error) {
	return dc.lbPolicy(policies, 1)
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

// configuredBy reports whether a configuration can be one of the policy. The type of a
// TypedStruct is the name of a policy in gRPC, never a message (A52).
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

// at puts an error below a path; nil stays nil.
func at(p Path, err error) error {
	if err == nil {
		return nil
	}
	var v Violations
	v.AddError(p, err)
	return v.Err()
}
