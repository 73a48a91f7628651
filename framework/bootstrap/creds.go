package bootstrap

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Creds are credentials of one type with their configuration. They print only their type.
type Creds struct {
	typ    string
	config json.RawMessage
}

// Type returns the name of the credentials, such as "tls".
func (c Creds) Type() string { return c.typ }

// Config returns a copy of the configuration, a JSON object, or nil if there is
// none.
func (c Creds) Config() json.RawMessage { return slices.Clone(c.config) }

// String returns the type.
func (c Creds) String() string { return c.typ }

// GoString returns the type.
func (c Creds) GoString() string { return "bootstrap.Creds(" + c.typ + ")" }

// buildCreds returns the first entries, up to limit, whose types are in supported. It checks the
// rules of the gRFCs for their configurations, because a violation makes the bootstrap invalid
// (A97). The code that implements a type checks all other configurations.
func buildCreds(p *problems, path string, specs []CredsSpec, supported []string, limit int) []Creds {
	var creds []Creds
	for i, spec := range specs {
		path := indexPath(path, i)
		if spec.Type == "" {
			p.add(path+".type", "missing", "must be the name of a type of credentials")
		}
		path += ".config"
		isObject := checkObject(p, path, spec.Config)
		if len(creds) == limit || !slices.Contains(supported, spec.Type) {
			continue
		}
		if isObject {
			checkConfig(object{p: p, path: path, fields: objectFields(spec.Config)}, spec.Type)
		}
		creds = append(creds, Creds{typ: spec.Type, config: slices.Clone(spec.Config)})
	}
	return creds
}

func objectFields(raw json.RawMessage) (fields map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &fields) // checkObject has validated it
	return fields
}

func checkConfig(o object, typ string) {
	switch typ {
	case "tls":
		checkTLS(o)
	case "jwt_token_file":
		v, ok := o.field("jwt_token_file")
		if !ok || v.stringValue() == "" {
			o.p.add(v.path, v.kind(), "must be the path of a file (gRFC A97)")
		}
	}
}

// checkTLS checks the configuration that gRFC A65 defines. It does not open files.
func checkTLS(o object) {
	o.stringValue("ca_certificate_file")
	certificate, key := o.stringValue("certificate_file"), o.stringValue("private_key_file")
	switch {
	case certificate != "" && key == "":
		o.p.add(o.path+".private_key_file", "missing", "must be set, as certificate_file is (gRFC A65)")
	case certificate == "" && key != "":
		o.p.add(o.path+".certificate_file", "missing", "must be set, as private_key_file is (gRFC A65)")
	}
	interval := o.stringValue("refresh_interval")
	v, _ := o.field("refresh_interval")
	var d durationpb.Duration
	if interval != "" && (protojson.Unmarshal(v.raw, &d) != nil || d.AsDuration() <= 0) {
		o.p.add(v.path, text(interval), `must be a duration above zero such as "600s" (gRFC A65)`)
	}
}
