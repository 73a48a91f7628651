package authority

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

func (r *rig) uri(server int) string { return r.m.config.Servers[server].URI() }

func (r *rig) printResources(kind string, list []Resource) {
	var lines []string
	for _, x := range list {
		lines = append(lines, fmt.Sprintf("%s %s %s of %s", kind, short(x.Type), x.Name, r.uri(x.Server)))
	}
	r.printSorted(lines)
}

func (r *rig) printStored(list []Stored) {
	var lines []string
	for _, s := range list {
		line := fmt.Sprintf("store: %s %s %s", [...]string{"put", "delete", "release"}[s.Op], short(s.Type), s.Name)
		if s.Update != nil {
			line += " content " + string(s.Update.Raw())
		}
		lines = append(lines, line)
	}
	r.printSorted(lines)
}

func (r *rig) printSorted(lines []string) {
	slices.Sort(lines)
	for _, line := range lines {
		r.printf("%s", line)
	}
}

// labelOf returns the label of a watcher and the watched name.
func labelOf(w Watcher) (label, target string) {
	if g, ok := w.(gatherer); ok {
		w = g.watcher
	}
	label = w.(*watcher).label
	target, _, _ = strings.Cut(label, " ")
	return label, target
}

func (r *rig) printf(format string, args ...any) {
	if r.output.Len() < 1<<16 { // of tests with many names, nobody reads it
		fmt.Fprintf(&r.output, r.prefix+format+"\n", args...)
	}
}

// stateText prints the state that the machine reports to the watchers of a name.
func (r *rig) stateText(s resource.State, watched xdstp.Name) string {
	var parts []string
	if s.Update != nil {
		text := "content " + string(s.Update.Raw())
		if s.Update.Name() != watched {
			text += " of " + s.Update.Name().String()
		}
		parts = append(parts, text)
	} else if s.Origin != resource.OriginNone {
		parts = append(parts, "complete")
	}
	if s.Origin == resource.OriginFallback {
		parts = append(parts, "from a fallback server")
	}
	if s.Origin == resource.OriginStored {
		parts = append(parts, "from the store")
	}
	if s.Err != nil {
		parts = append(parts, r.errorText(s.Err))
	}
	if len(parts) == 0 {
		return "nothing known"
	}
	return strings.Join(parts, ", ")
}

// errorText prints the kind of an error. Of a rejection and of an outage, it also prints the cause, which is from
// the script, and of an outage the server.
func (r *rig) errorText(err error) string {
	r.t.Helper()
	var e *resource.Error
	if !errors.As(err, &e) {
		r.t.Fatalf("%serror %v is no resource.Error", r.pos, err)
	}
	switch e.Kind {
	case resource.ErrNotFound: //nolint:errorlint // the kind itself
		return "does not exist"
	case resource.ErrRemoved:
		return "removed"
	case resource.ErrTimeout:
		return "timeout"
	case resource.ErrDenied:
		return "denied"
	case resource.ErrUnavailable:
		return "unavailable"
	case resource.ErrInvalid:
		return "invalid: " + e.Err.Error()
	case resource.ErrTransport:
		return fmt.Sprintf("unreachable: %s: %v", e.Server, e.Err)
	}
	return err.Error()
}

// printState prints all records, and the resources in the cache.
func (r *rig) printState() {
	var lines []string
	for e := range r.m.Entries() {
		line := fmt.Sprintf("%s %s: %s", short(e.Type), e.Name, e.State)
		if e.Update != nil {
			line += " content " + string(e.Update.Raw()) + " of " + e.Update.Server().URI()
		}
		if e.Version != "" {
			line += " version " + e.Version
		}
		lines = append(lines, line)
	}
	for _, t := range []*resource.Descriptor{clusters, endpoints} {
		for u := range r.m.Shard(r.m.config.Types.Index(t)).All() {
			lines = append(lines, fmt.Sprintf("%s cache %s: content %s of %s", short(t), u.Name(), u.Raw(), u.Server().URI()))
		}
	}
	if i, ok := r.m.Active(); ok && len(r.m.config.Servers) > 1 {
		lines = append(lines, "active "+r.uri(i))
	}
	r.printSorted(lines)
}

func short(t *resource.Descriptor) string {
	return map[*resource.Descriptor]string{clusters: "cluster", endpoints: "endpoint"}[t]
}
