package filters_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// The most specific level decides on the override, and on whether the entry is in use (A39).
func TestEntries(t *testing.T) {
	known := func(message string) *resource.HTTPFilter {
		switch message {
		case "F":
			return &resource.HTTPFilter{Config: "F", Override: "O"}
		case "Router":
			return &resource.HTTPFilter{Config: "Router", Terminal: true}
		default:
			return nil
		}
	}
	type level = map[string]route.FilterOverride
	a := listener.HTTPFilter{Name: "a", Message: "F", Config: "config"}
	off := listener.HTTPFilter{Name: "a", Message: "F", Config: "config", Disabled: true}
	skipped := listener.HTTPFilter{Name: "s", Message: "?", Skipped: "unknown"}
	end := listener.HTTPFilter{Name: "end", Message: "Router"}
	host, own := route.FilterOverride{Message: "O", Config: "host"}, route.FilterOverride{Message: "O", Config: "route"}
	none := route.FilterOverride{Disabled: true}
	for name, tt := range map[string]struct {
		list   []listener.HTTPFilter
		levels []level
		want   string // entries, or a part of the error
	}{
		"none":                     {[]listener.HTTPFilter{end, a}, nil, "[]"},
		"skipped":                  {[]listener.HTTPFilter{skipped, a, end}, nil, "[a:<nil>:-1]"},
		"host":                     {[]listener.HTTPFilter{a, end}, []level{{"a": host}, {"b": own}}, "[a:host:0]"},
		"route over host":          {[]listener.HTTPFilter{a, end}, []level{{"a": host}, {"a": own}}, "[a:route:1]"},
		"route disables":           {[]listener.HTTPFilter{a, end}, []level{{"a": host}, {"a": none}}, "[]"},
		"route enables again":      {[]listener.HTTPFilter{a, end}, []level{{"a": none}, {"a": own}}, "[a:route:1]"},
		"disabled":                 {[]listener.HTTPFilter{off, end}, nil, "[]"},
		"override enables":         {[]listener.HTTPFilter{off, end}, []level{nil, {"a": own}}, "[a:route:1]"},
		"unknown":                  {[]listener.HTTPFilter{{Name: "u", Message: "U"}}, nil, `HTTP filter "u": no U is registered`},
		"override of another kind": {[]listener.HTTPFilter{a, end}, []level{{"a": {Message: "P"}}}, `HTTP filter "a": an override is a P; must be one of F`},
	} {
		entries, err := filters.Entries(tt.list, known, tt.levels...)
		got := []string{}
		for _, e := range entries {
			got = append(got, fmt.Sprintf("%s:%v:%d", e.Name, e.Override, e.Level))
		}
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: error %v; want %s", name, err, tt.want)
			}
		} else if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: entries %v; want %s", name, got, tt.want)
		}
		if slices.ContainsFunc(entries, func(e filters.Entry) bool { return e.Config != "config" || e.Message != "F" }) {
			t.Errorf("%s: the entries %+v lack the configuration", name, entries)
		}
	}
}
