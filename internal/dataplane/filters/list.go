package filters

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// An Entry is an entry of a list of filters that applies to a route.
type Entry struct {
	// Name is the name of the entry, and Message the message type of its configuration.
	Name, Message string
	// Config is the configuration. Override is that of the most specific level that has one, or nil.
	Config, Override any
	// Level is the index of this level, or -1.
	Level int
}

// Entries returns the entries of a list that apply to a route, in order, up to the terminal filter (A39). The levels are
// the overrides from the least to the most specific one. An override may also disable or enable its entry. Overrides for
// filters that are not in the list are ignored. Known returns the filter that runs with a configuration message, or nil.
// The error names an entry that cannot run. Calls must fail then.
func Entries(list []listener.HTTPFilter, known func(message string) *resource.HTTPFilter, levels ...map[string]route.FilterOverride) ([]Entry, error) {
	out := make([]Entry, 0, len(list))
	for i := range list {
		l := &list[i]
		if l.Skipped != "" {
			continue
		}
		f := known(l.Message)
		switch {
		case f == nil:
			return nil, fmt.Errorf("HTTP filter %s: no %s is registered that runs here", printable.Quote(l.Name, printable.Short), printable.Text(l.Message, printable.Short))
		case f.Terminal:
			return out, nil
		}
		e := Entry{Name: l.Name, Message: l.Message, Config: l.Config, Level: -1}
		disabled := l.Disabled
		for j, overrides := range levels {
			o, ok := overrides[l.Name]
			if !ok {
				continue
			}
			if disabled = o.Disabled; disabled {
				continue
			}
			if o.Message != f.Override {
				return nil, fmt.Errorf("HTTP filter %s: an override is a %s; must be one of %s (A39)",
					printable.Quote(l.Name, printable.Short), printable.Text(o.Message, printable.Short), f.Config)
			}
			e.Override, e.Level = o.Config, j
		}
		if !disabled {
			out = append(out, e)
		}
	}
	return out, nil
}
