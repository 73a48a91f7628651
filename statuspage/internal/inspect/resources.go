package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/status"
)

// A ResourceFilter selects resources. Empty fields select all.
type ResourceFilter struct {
	// Client is the ID of a client.
	Client string
	// Type is the full name of a message.
	Type string
	// State is a state of gRFC A88.
	State string
	// Text is a part of the name, the version or the error, in any case.
	Text string
}

// An Item is a resource in a list.
type Item struct {
	Client       string    `json:"client"`
	Type         string    `json:"type"`
	Name         string    `json:"name"`
	State        string    `json:"state"`
	Level        Level     `json:"level"`
	Version      string    `json:"version,omitzero"`
	Updated      time.Time `json:"updated,omitzero"`
	Reason       string    `json:"reason,omitzero"`
	ControlPlane string    `json:"controlPlane,omitzero"`
	Watchers     int       `json:"watchers"`
	Collection   bool      `json:"collection,omitzero"`
}

// ShortType returns the last part of the type's name.
func (i Item) ShortType() string { return ShortType(i.Type) }

// A ResourceList is one page of the selected resources.
type ResourceList struct {
	// Total is the number of all resources, Selected that of the selected ones.
	Total    int    `json:"total"`
	Selected int    `json:"selected"`
	Page     int    `json:"page"`
	Pages    int    `json:"pages"`
	Items    []Item `json:"items"`
	// Types are the types of all resources, for a choice.
	Types []string `json:"types"`
}

// Resources returns a page of the resources that a filter selects: the ones with problems first, then by
// clients, types and names. Pages count from 1. A page beyond the last one is the last one.
func (s *Source) Resources(ctx context.Context, f ResourceFilter, page, size int) (ResourceList, error) {
	var out ResourceList
	f.Text = strings.ToLower(f.Text)
	types := make(map[string]bool)
	var found []located
	for _, c := range s.Clients() {
		snapshot, err := s.snapshot(ctx, c)
		if cause := ctx.Err(); cause != nil {
			return ResourceList{}, cause
		}
		if err != nil {
			continue // closed since
		}
		out.Total += len(snapshot.Resources)
		for i := range snapshot.Resources {
			r := &snapshot.Resources[i]
			types[r.Type] = true
			if f.selects(c, r) {
				found = append(found, located{c.ID, r})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b located) int { return cmp.Compare(b.level().rank(), a.level().rank()) })
	out.Selected, out.Pages = len(found), max(1, (len(found)+size-1)/size)
	out.Page = min(max(page, 1), out.Pages)
	start := (out.Page - 1) * size
	out.Items = make([]Item, 0, size)
	for _, l := range found[start:min(start+size, len(found))] {
		out.Items = append(out.Items, l.item())
	}
	for t := range types {
		out.Types = append(out.Types, t)
	}
	slices.Sort(out.Types)
	return out, nil
}

// located is a resource of a client.
type located struct {
	client   string
	resource *status.Resource
}

func (l located) level() Level { return levelOf(l.resource.State, l.resource.Update != nil) }

func (l located) item() Item {
	r := l.resource
	i := Item{
		Client: l.client, Type: r.Type, Name: r.Name.String(), State: r.State, Level: l.level(), Version: r.Version,
		Updated: r.Updated, Watchers: len(r.Watchers), Collection: r.Collection,
	}
	i.Reason, i.ControlPlane = Reason(r)
	return i
}

func (f ResourceFilter) selects(c Client, r *status.Resource) bool {
	if f.Client != "" && f.Client != c.ID || f.Type != "" && f.Type != r.Type || f.State != "" && f.State != r.State {
		return false
	}
	return f.Text == "" || contains(r.Name.String(), f.Text) || contains(r.Version, f.Text) ||
		r.Err != nil && contains(r.Err.Error(), f.Text)
}

// contains reports whether a text contains another one in lower case.
func contains(text, lower string) bool { return strings.Contains(strings.ToLower(text), lower) }
