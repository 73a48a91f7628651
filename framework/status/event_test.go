package status_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
)

// Each event prints as one line, and its JSON has all fields that are set.
func TestEvents(t *testing.T) {
	s := snapshot(t)
	server := s.Servers[0].Entry
	const cluster = "envoy.config.cluster.v3.Cluster"
	for _, tt := range []struct {
		event      status.Event
		text, json string
	}{
		{
			status.Event{Number: 1, Time: s.Taken, Kind: status.EventConnected},
			`2025-01-02T03:04:05Z CONNECTED`, `{"number":1,"time":"2025-01-02T03:04:05Z","kind":"CONNECTED"}`,
		},
		{
			status.Event{Number: 2, Kind: status.EventLost, Err: fmt.Errorf("%w: two\nlines", resource.ErrTransport)},
			`LOST: control plane unreachable: two\nlines`,
			`{"number":2,"kind":"LOST","error":{"kind":"TRANSPORT","text":"control plane unreachable: two\nlines"}}`,
		},
		{
			status.Event{Number: 3, Kind: status.EventFellBack, Authority: "east.example"},
			`FELL_BACK "east.example"`, `{"number":3,"kind":"FELL_BACK","authority":"east.example"}`,
		},
		{
			status.Event{Number: 4, Kind: status.EventReturned, OldStyle: true},
			`RETURNED old-style names`, `{"number":4,"kind":"RETURNED","oldStyle":true}`,
		},
		{
			status.Event{Number: 5, Kind: status.EventResponse, Type: cluster, Version: "7", Resources: 9, Unchanged: 3, Unwatched: 2, Removed: 1},
			`RESPONSE 9 Cluster version "7", 3 unchanged, 2 unwatched, 1 removed`,
			`{"number":5,"kind":"RESPONSE","type":"` + cluster + `","version":"7","resources":9,"unchanged":3,"unwatched":2,"removed":1}`,
		},
		{
			status.Event{Number: 6, Kind: status.EventTimedOut, Type: "Own", Resources: 2, Name: "a\nb"},
			`TIMED_OUT 2 Own such as "a\nb"`, `{"number":6,"kind":"TIMED_OUT","type":"Own","resources":2,"name":"a\nb"}`,
		},
	} {
		if got := tt.event.String(); got != tt.text {
			t.Errorf("event %d is %s, want %s", tt.event.Number, got, tt.text)
		}
		if got, err := json.Marshal(tt.event); err != nil || string(got) != tt.json {
			t.Errorf("JSON of event %d is %s, %v; want %s", tt.event.Number, got, err, tt.json)
		}
	}
	e := status.Event{Kind: status.EventClosed, Server: server, Authority: "unused"}
	if got := e.String(); got != "CLOSED xds.example:443" {
		t.Errorf("event = %s, want the URI of the server", got)
	}
}
