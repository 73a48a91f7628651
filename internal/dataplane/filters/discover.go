package filters

import (
	"fmt"
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// Discover returns a list of filters with the configurations that are separate resources (A104). It returns the list itself
// if there are none. find returns such a resource by the name in the list, or the reason why there is none. A filter that
// cannot run on the side is skipped if it is optional. Otherwise the calls fail. The error is the first one of the list,
// but Discover calls find for each filter.
func Discover(list []listener.HTTPFilter, side resource.Side, find func(name string) (*extension.Update, error)) ([]listener.HTTPFilter, error) {
	if !slices.ContainsFunc(list, discovered) {
		return list, nil
	}
	out := slices.Clone(list)
	var first error
	for i := range out {
		f := &out[i]
		if !discovered(*f) {
			continue
		}
		u, err := find(f.Extension)
		switch {
		case err != nil:
		case u.Sides&side != 0:
			f.Message, f.Config = u.Message, u.Filter
		case f.Optional:
			f.Skipped = "the optional filter is not registered for a " + side.String()
		default:
			err = fmt.Errorf("the HTTP filter of the TypedExtensionConfig %s is a %s, which is not registered for a %s (A39)",
				printable.Quote(f.Extension, printable.Short), printable.Text(u.Message, printable.Short), side)
		}
		if first == nil {
			first = err
		}
	}
	return out, first
}

// discovered reports whether the configuration of a filter is a separate resource.
func discovered(f listener.HTTPFilter) bool { return f.Extension != "" && f.Skipped == "" }
