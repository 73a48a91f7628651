package status

import (
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// String returns the number of parts of each kind.
func (s Snapshot) String() string {
	line := fmt.Sprintf("node %s: %d servers, %d authorities, %d resources, %d times slow watchers",
		printable.Quote(s.NodeID, printable.Short), len(s.Servers), len(s.Authorities), len(s.Resources), s.SlowWatchers)
	if s.Scope != "" {
		line = "scope " + printable.Quote(s.Scope, printable.Quoted) + ": " + line
	}
	if !s.Taken.IsZero() {
		line += " at " + s.Taken.Format(time.RFC3339)
	}
	return line
}

// String returns a description on one line.
func (s Server) String() string {
	line := fmt.Sprintf("%v %s: %d streams, %d requests, %d responses", s.Entry, s.State, s.Streams, s.Requests, s.Responses)
	if s.Rejected > 0 {
		line += fmt.Sprintf(", %d rejected", s.Rejected)
	}
	if s.Attempts > 0 {
		line += fmt.Sprintf(", %d attempts failed", s.Attempts)
	}
	return line + problem(s.Err)
}

// String returns the version and the numbers of resources.
func (t Traffic) String() string {
	line := fmt.Sprintf("%v %s: %d valid, %d invalid", t.Server, shortType(t.Type), t.Valid, t.Invalid)
	if t.Version != "" {
		line += ", version " + printable.Quote(t.Version, printable.Short)
	}
	return line
}

// String returns a description on one line, with the URI of the server in use.
func (a Authority) String() string {
	name := authorityText(a.Name, a.OldStyle)
	if a.Active == nil {
		return fmt.Sprintf("%s: none of %d servers in use", name, len(a.Servers))
	}
	return fmt.Sprintf("%s: %s in use, of %d servers", name, printable.Text(a.Active.URI(), printable.Short), len(a.Servers))
}

// String returns a description on one line, without the content.
func (r Resource) String() string {
	line := fmt.Sprintf("%s %s %s", shortType(r.Type),
		printable.Quote(r.Name.String(), printable.Short), r.State)
	if r.Version != "" {
		line += " version " + printable.Quote(r.Version, printable.Short)
	}
	if r.Origin == resource.OriginStored {
		line += " from the last known good store"
	}
	if r.RejectedVersion != "" {
		line += " rejected " + printable.Quote(r.RejectedVersion, printable.Short)
	}
	return line + fmt.Sprintf(", %d watchers", len(r.Watchers)) + problem(r.Err)
}

// String returns the number of resources and their label values of gRFC A78.
func (c Count) String() string {
	return fmt.Sprintf("%s: %d %s %s", authorityText(c.Authority, c.OldStyle), c.Resources, shortType(c.Type), c.CacheState())
}

// String returns for how long the watcher is behind.
func (w Watcher) String() string {
	if w.Behind == 0 {
		return "up to date"
	}
	return w.Behind.String() + " behind"
}

func problem(err error) string {
	if err == nil {
		return ""
	}
	return ": " + printable.Text(err.Error(), printable.Quoted)
}
