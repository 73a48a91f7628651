package filters_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// Discover looks for each resource, also after an error, and returns the first error of the list. It leaves its list as it is (A104).
func TestDiscover(t *testing.T) {
	list := []listener.HTTPFilter{
		{Name: "inline", Message: "m", Config: "c"},
		{Name: "skipped", Extension: "skipped", Skipped: "why"},
		{Name: "a", Extension: "a"},
		{Name: "missing", Extension: "missing"},
		{Name: "other", Extension: "other"},
		{Name: "optional", Extension: "other", Optional: true},
	}
	before := slices.Clone(list)
	var found []string
	got, err := filters.Discover(list, resource.ClientSide, func(name string) (*extension.Update, error) {
		found = append(found, name)
		switch name {
		case "missing":
			return nil, errors.New("it is missing")
		case "other":
			return &extension.Update{Message: "o", Sides: resource.ServerSide}, nil
		}
		return &extension.Update{Message: "m", Filter: name, Sides: resource.ClientSide}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "it is missing") {
		t.Errorf("error %v; want that of the first filter that cannot be used", err)
	}
	if want := []string{"a", "missing", "other", "other"}; !slices.Equal(found, want) {
		t.Errorf("Discover looks for %q; want %q", found, want)
	}
	want := slices.Clone(before)
	want[2].Message, want[2].Config = "m", "a"
	want[5].Skipped = "the optional filter is not registered for a client"
	if !slices.Equal(got, want) {
		t.Errorf("the filters are\n%+v; want\n%+v", got, want)
	}
	if !slices.Equal(list, before) {
		t.Errorf("Discover changes its list to %+v", list)
	}
}
