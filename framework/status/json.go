package status

import (
	"encoding/json"
	"errors"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
)

// A failure is the JSON form of an error.
type failure struct {
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	return &failure{kindOf(err), err.Error()}
}

// kindOf returns the kind of an error of package resource, or "" for other errors.
func kindOf(err error) string {
	for _, k := range []struct {
		kind error
		name string
	}{
		{resource.ErrRemoved, "REMOVED"}, // before ErrNotFound, which it also is
		{resource.ErrNotFound, "NOT_FOUND"},
		{resource.ErrTimeout, "TIMEOUT"},
		{resource.ErrInvalid, "INVALID"},
		{resource.ErrDenied, "DENIED"},
		{resource.ErrUnavailable, "UNAVAILABLE"},
		{resource.ErrTransport, "TRANSPORT"},
		{resource.ErrClosed, "CLOSED"},
		{resource.ErrUnknownType, "UNKNOWN_TYPE"},
	} {
		if errors.Is(err, k.kind) {
			return k.name
		}
	}
	return ""
}

// MarshalJSON returns all fields that are set. Node is in the JSON mapping of protobuf.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	type fields Snapshot
	var node json.RawMessage
	if s.Node != nil {
		b, err := protojson.Marshal(s.Node)
		if err != nil {
			return nil, err
		}
		node = b // json.Marshal removes the white space, which varies
	}
	return json.Marshal(struct {
		fields
		Node json.RawMessage `json:"node,omitempty"`
	}{fields(s), node})
}

// MarshalJSON returns all fields that are set. Err is an object with its kind, such as "TRANSPORT",
// and its text.
func (s Server) MarshalJSON() ([]byte, error) {
	type fields Server
	return json.Marshal(struct {
		fields
		Err *failure `json:"error,omitempty"`
	}{fields(s), failureOf(s.Err)})
}

// MarshalJSON returns all fields that are set. Update is the result of its own MarshalJSON. Err is
// an object with its kind, such as "NOT_FOUND", and its text.
func (r Resource) MarshalJSON() ([]byte, error) {
	type fields Resource
	update, err := r.update()
	if err != nil {
		return nil, err
	}
	origin := ""
	if r.Origin != resource.OriginNone {
		origin = r.Origin.String()
	}
	return json.Marshal(struct {
		fields
		Origin string          `json:"origin,omitempty"`
		Err    *failure        `json:"error,omitempty"`
		Update json.RawMessage `json:"update,omitempty"`
	}{fields(r), origin, failureOf(r.Err), update})
}

// update returns the JSON form of the update.
func (r Resource) update() (json.RawMessage, error) {
	switch u := r.Update.(type) {
	case nil:
		return nil, nil
	case json.Marshaler:
		return json.Marshal(u)
	default:
		return runtime.MarshalJSON(r.Type, u)
	}
}

// MarshalJSON returns Behind as text, such as "1.5s".
func (w Watcher) MarshalJSON() ([]byte, error) {
	out := map[string]string{}
	if w.Behind != 0 {
		out["behind"] = w.Behind.String()
	}
	return json.Marshal(out)
}
