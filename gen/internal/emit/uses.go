package emit

import (
	"slices"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// use is a set of ways in which a wire decoder uses a field, a oneof or a message.
type use uint8

// The ways.
const (
	useRead     use = 1 << iota // its value, or a field of the message
	usePresence                 // whether the field or oneof is set
	useMember                   // which member of the oneof is set
	useEncoded                  // the field's message as bytes
	useWhole                    // hooks are given the message
	useSocket                   // a conversion reads the message as an address
	useGiven                    // hooks get the well-known type, and may keep it
)

// note notes a use, if the functions are written for the first time. Views have exactly the fields that they read.
func (e *emitter) note(d protoreflect.Descriptor, u use) {
	if e.views == nil || e.views.names != nil {
		return
	}
	e.views.uses[d.FullName()] |= u
	if u&(useRead|usePresence|useMember|useEncoded) != 0 {
		e.views.uses[d.Parent().FullName()] |= useRead
	}
}

// has reports whether one of the uses was noted.
func (e *emitter) has(d protoreflect.Descriptor, u use) bool {
	return e.views.uses[d.FullName()]&u != 0
}

// noteHook notes that a hook is given a message.
func (e *emitter) noteHook(m *protogen.Message) {
	if model.Native(m) != "" {
		e.note(m.Desc, useGiven)
	} else if !model.IsWrapper(m) {
		e.note(m.Desc, useWhole)
	}
}

// findLate finds the profiles in which alone the message is unmarshalled, for hooks that are only called there. There
// are none if other code needs the whole message.
func (e *emitter) findLate() {
	root := e.pkg.Message
	if len(e.late) == 0 {
		return
	}
	slices.Sort(e.late)
	e.late = slices.Compact(e.late)
	if e.late[0] == "" || e.has(root.Desc, useWhole) || !e.has(root.Desc, useRead) {
		e.noteHook(root)
		e.late = nil
	}
}

// An UnreadableFieldError is about a field that a wire decoder cannot read.
type UnreadableFieldError struct {
	Field  protoreflect.FullName
	Reason string
}

// Error implements error.
func (e *UnreadableFieldError) Error() string {
	return "decoder: wire cannot read " + string(e.Field) + ", which " + e.Reason
}

// unreadable returns an error about the first field of the messages that a wire decoder reads which it cannot read.
// Messages of proto3 have no such fields.
func (v *views) unreadable() error {
	for _, m := range v.messages {
		for _, f := range m.Fields {
			switch {
			case f.Desc.Cardinality() == protoreflect.Required:
				return &UnreadableFieldError{f.Desc.FullName(), "is required"}
			case f.Desc.Kind() == protoreflect.GroupKind:
				return &UnreadableFieldError{f.Desc.FullName(), "is a group"}
			case f.Enum != nil && f.Enum.Desc.IsClosed():
				return &UnreadableFieldError{f.Desc.FullName(), "is a closed enum"}
			}
		}
	}
	return nil
}
