package status

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// MaxEvents is the number of events that a client keeps.
const MaxEvents = 1000

// An EventKind is the kind of an [Event].
type EventKind string

// The kinds of events.
const (
	// EventConnected means that a stream to Server is open.
	EventConnected EventKind = "CONNECTED"
	// EventLost means that the stream to Server ended, or that attempts began to fail, for the
	// reason Err. Further attempts that fail for the same reason are no events.
	EventLost EventKind = "LOST"
	// EventClosed means that the client closed the stream to Server, for the reason Err.
	EventClosed EventKind = "CLOSED"
	// EventFellBack means that Authority uses Server, because a better one is unreachable (gRFC A71).
	EventFellBack EventKind = "FELL_BACK"
	// EventReturned means that Authority uses Server again, which is better than the previous one.
	EventReturned EventKind = "RETURNED"
	// EventResponse means that Server sent a response with Resources of Type, of which the client
	// knows Unchanged and nobody watches Unwatched. It reports Removed resources as well.
	EventResponse EventKind = "RESPONSE"
	// EventAccepted means that Resources of the response are new and valid.
	EventAccepted EventKind = "ACCEPTED"
	// EventRejected means that Resources of the response are invalid, for the reasons in Err.
	EventRejected EventKind = "REJECTED"
	// EventTimedOut means that Server did not send Resources of Type in time, such as Name.
	EventTimedOut EventKind = "TIMED_OUT"
	// EventMissing means that Server has stopped to send Resources of Type, such as Name: they are not in
	// a response that lists all resources, or in those after the stream was replaced.
	EventMissing EventKind = "MISSING"
	// EventAskedAgain means that the client requested Resources of Type from Server again, because
	// half of their time has passed.
	EventAskedAgain EventKind = "ASKED_AGAIN"
)

// An Event is a change that a client has recorded. No event is about one resource alone, so that a
// large response does not push out the others. A field is set as its kind needs it.
type Event struct {
	// Number is that of the event among those of its client, from 1. It shows a reader that
	// events are missing.
	Number uint64            `json:"number"`
	Time   time.Time         `json:"time,omitzero"`
	Kind   EventKind         `json:"kind"`
	Server *bootstrap.Server `json:"server,omitzero"`
	// Authority is empty for the empty authority, and for old-style names: OldStyle is then set.
	Authority string `json:"authority,omitzero"`
	OldStyle  bool   `json:"oldStyle,omitzero"`
	Type      string `json:"type,omitzero"`    // full name of the message
	Version   string `json:"version,omitzero"` // of the response; clipped
	Resources int    `json:"resources,omitzero"`
	Unchanged int    `json:"unchanged,omitzero"`
	Unwatched int    `json:"unwatched,omitzero"`
	Removed   int    `json:"removed,omitzero"`
	Name      string `json:"name,omitzero"`
	Err       error  `json:"-"`
}

// MarshalJSON returns all fields that are set. Err is an object with its kind, such as "TRANSPORT",
// and its text.
func (e Event) MarshalJSON() ([]byte, error) {
	type fields Event
	return json.Marshal(struct {
		fields
		Err *failure `json:"error,omitempty"`
	}{fields(e), failureOf(e.Err)})
}

// String returns a description on one line.
func (e Event) String() string {
	var b strings.Builder
	if !e.Time.IsZero() {
		b.WriteString(e.Time.Format(time.RFC3339Nano) + " ")
	}
	b.WriteString(string(e.Kind))
	if e.Kind == EventFellBack || e.Kind == EventReturned {
		b.WriteString(" " + authorityText(e.Authority, e.OldStyle))
	}
	if e.Server != nil {
		b.WriteString(" " + printable.Text(e.Server.URI(), printable.Short))
	}
	if e.Type != "" {
		fmt.Fprintf(&b, " %d %s", e.Resources, shortType(e.Type))
	}
	if e.Name != "" {
		fmt.Fprintf(&b, " such as %s", printable.Quote(e.Name, printable.Short))
	}
	if e.Version != "" {
		fmt.Fprintf(&b, " version %s", printable.Quote(e.Version, printable.Short))
	}
	for _, n := range []struct {
		name  string
		count int
	}{{"unchanged", e.Unchanged}, {"unwatched", e.Unwatched}, {"removed", e.Removed}} {
		if n.count > 0 {
			fmt.Fprintf(&b, ", %d %s", n.count, n.name)
		}
	}
	b.WriteString(problem(e.Err))
	return b.String()
}

// authorityText returns the name of an authority for people.
func authorityText(name string, oldStyle bool) string {
	if oldStyle {
		return "old-style names"
	}
	return printable.Quote(name, printable.Short)
}

// shortType returns the name of a message without its package.
func shortType(message string) string {
	return printable.Text(message[strings.LastIndexByte(message, '.')+1:], printable.Short)
}
