package statuspage

import (
	"context"
	"maps"
	"net/http"
	"strconv"

	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

// The numbers of entries on a page.
const (
	perPage    = 100
	lastEvents = 10
)

// A clientPage has the chains and LB trees of a client.
type clientPage struct {
	inspect.ClientSummary
	Chain    inspect.Chain    `json:"chain"`
	Channels []inspect.Target `json:"channels,omitempty"`
	// Trees are the channels with a part of their LB trees, for the page.
	Trees []tree `json:"-"`
}

func (s *site) client(ctx context.Context, q query) (content, error) {
	c, err := s.source.Client(q.Get("client"))
	if err != nil {
		return content{}, err
	}
	var p clientPage
	if p.ClientSummary, err = s.source.Summary(ctx, c); err != nil {
		return content{}, err
	}
	if p.Chain, err = s.source.Chain(ctx, c); err != nil {
		return content{}, err
	}
	targets, err := s.source.Targets(ctx)
	if err != nil {
		return content{}, err
	}
	for _, t := range targets {
		if t.Client == c.ID {
			p.Channels = append(p.Channels, t)
			p.Trees = append(p.Trees, newTree(t))
		}
	}
	return content{c.Label(), s.ofClient("tree", c.Scope, c.Scope), p}, nil
}

// A resourcesPage is a page of a list of resources.
type resourcesPage struct {
	Filter inspect.ResourceFilter `json:"filter"`
	inspect.ResourceList
	Clients []inspect.Client `json:"-"`
	Nav     pages            `json:"-"`
}

// pages are the links to the neighbors of a page of a list.
type pages struct {
	Page, Pages int
	Prev, Next  string
}

// neighbors returns the links for the parameters of a query.
func neighbors(view string, q query, page, count int) pages {
	at := func(n int) string {
		v := maps.Clone(q.Values)
		v.Set("page", strconv.Itoa(n))
		return "./" + view + "?" + v.Encode()
	}
	return pages{page, count, at(page - 1), at(page + 1)}
}

func (s *site) resources(ctx context.Context, q query) (content, error) {
	number, err := q.page()
	if err != nil {
		return content{}, err
	}
	p := resourcesPage{
		Filter:  inspect.ResourceFilter{Client: q.Get("client"), Type: q.Get("type"), State: q.Get("state"), Text: q.Get("q")},
		Clients: s.source.Clients(),
	}
	if p.ResourceList, err = s.source.Resources(ctx, p.Filter, number, perPage); err != nil {
		return content{}, err
	}
	p.Nav = neighbors("resources", q, p.Page, p.Pages)
	return content{"Resources", s.statusCommand(p.Filter), p}, nil
}

// A resourcePage has the details of a resource.
type resourcePage struct {
	Client inspect.Client `json:"client"`
	inspect.Details
}

func (s *site) resource(ctx context.Context, q query) (content, error) {
	c, err := s.source.Client(q.Get("client"))
	if err != nil {
		return content{}, err
	}
	d, err := s.source.Resource(ctx, c, q.Get("type"), q.Get("name"))
	if err != nil {
		return content{}, err
	}
	return content{d.Item.ShortType() + " " + d.Item.Name, s.ofClient("get", c.Scope, d.Item.Type, d.Item.Name), resourcePage{c, d}}, nil
}

func (s *site) servers(context.Context, query) (content, error) {
	return content{"gRPC servers", s.xdsctl("status", "--scope", "#server", s.addr()), struct {
		Servers []inspect.Server `json:"servers"`
	}{s.source.Servers()}}, nil
}

// An eventsPage is a page of the time line.
type eventsPage struct {
	Filter  inspect.EventFilter `json:"filter"`
	Page    int                 `json:"page"`
	Pages   int                 `json:"pages"`
	Total   int                 `json:"total"`
	Events  []inspect.Event     `json:"events"`
	Kinds   []status.EventKind  `json:"-"`
	Nav     pages               `json:"-"`
	Clients []inspect.Client    `json:"-"`
}

func (s *site) events(_ context.Context, q query) (content, error) {
	number, err := q.page()
	if err != nil {
		return content{}, err
	}
	f := inspect.EventFilter{Client: q.Get("client"), Kind: q.Get("kind"), Text: q.Get("q")}
	all := s.source.Events(f)
	p := eventsPage{
		Filter: f, Total: len(all), Pages: max(1, (len(all)+perPage-1)/perPage), Clients: s.source.Clients(),
		Kinds: []status.EventKind{
			status.EventConnected, status.EventLost, status.EventClosed, status.EventFellBack, status.EventReturned,
			status.EventResponse, status.EventAccepted, status.EventRejected, status.EventTimedOut, status.EventAskedAgain,
		},
	}
	p.Page = min(number, p.Pages)
	start := (p.Page - 1) * perPage
	p.Events = all[start:min(start+perPage, len(all))]
	p.Nav = neighbors("events", q, p.Page, p.Pages)
	return content{"Time line", s.xdsctl("status", "--watch", s.addr()), p}, nil
}

// A routePage has the form and the result of the route tester.
type routePage struct {
	Clients []inspect.Client `json:"-"`
	Client  string           `json:"-"`
	Method  string           `json:"-"`
	Header  string           `json:"-"`
	// Route is nil without a call.
	Route *inspect.Route `json:"route"`
}

func (s *site) route(ctx context.Context, q query) (content, error) {
	p := routePage{Client: q.Get("client"), Method: q.Get("method"), Header: q.Get("header")}
	for _, c := range s.source.Clients() {
		if c.Scope != "#server" {
			p.Clients = append(p.Clients, c)
		}
	}
	headers, err := q.headers()
	if err != nil {
		return content{}, err
	}
	if p.Method == "" {
		return content{"Route tester", "", p}, nil
	}
	if p.Method[0] != '/' {
		return content{}, &failure{http.StatusBadRequest, "method = " + quoted(p.Method) + `; must start with "/", such as "/package.Service/Method"`}
	}
	c, err := s.source.Client(p.Client)
	if err != nil {
		return content{}, err
	}
	r, err := s.source.Route(ctx, c, inspect.Call{Client: c.ID, Method: p.Method, Headers: headers})
	if err != nil {
		return content{}, err
	}
	p.Route = &r
	return content{"Route tester", s.routeCommand(c.Scope, r.Call), p}, nil
}
