package client

import (
	"slices"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// Where authorities keep what a response has is noted in the response, also where it has
// something for several.
func TestPlacesOfSeveralAuthorities(t *testing.T) {
	oldStyle, a := new(authorityScope), new(authorityScope)
	c := &Client{oldStyle: oldStyle, authorities: map[string]*authorityScope{"a": a}}
	var d decoded
	for _, s := range []string{"one", "xdstp://a/t/two", "xdstp://unknown/t/three", "four"} {
		n, err := xdstp.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		d.results = append(d.results, authority.Result{Name: n})
	}
	var parts []part
	for i, scope := range []*authorityScope{oldStyle, a} {
		p := d.of(c, scope)
		if want := 2 - i; len(p.results) != want {
			t.Fatalf("authority %d has %d results, want %d", i, len(p.results), want)
		}
		for k := range p.results {
			p.results[k].Place = placeOf(t, p.results[k].Name)
		}
		parts = append(parts, p)
	}
	d.place(parts)
	for i, want := range []bool{true, true, false, true} {
		if got := d.results[i].Place != (authority.Place{}); got != want {
			t.Errorf("%s has a place: %t, want %t", d.results[i].Name, got, want)
		}
	}
}

// placeOf is where a machine keeps what it knows of a resource that is watched.
func placeOf(t *testing.T, name xdstp.Name) (p authority.Place) {
	t.Helper()
	types, err := resource.NewSet(resource.Describe(cluster.Type()))
	if err != nil {
		t.Fatal(err)
	}
	server, err := bootstrap.ParseServer([]byte(`{"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	m := authority.New(authority.Config{Types: types, Servers: []*bootstrap.Server{server}})
	m.Handle(authority.Watch{Type: resource.Describe(cluster.Type()), Name: name, Place: &p}, time.Now())
	return p
}

// The stream is told of everything that a response mentions: what it does not mention
// may turn out to be stale.
func TestResponseIsSummarised(t *testing.T) {
	name := func(s string) xdstp.Name {
		n, err := xdstp.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	d := decoded{results: []authority.Result{
		{Name: name("bad"), Err: errTwice},
		{Name: name("refused"), Error: &authority.ServerError{Code: 14}},
		{Name: name("gone"), Removed: true},
		{Name: name("alive"), Version: "1", Heartbeat: true, Aliases: []xdstp.Name{name("alias")}},
	}}
	var ev ads.Received
	d.summarise(&ev)
	if !slices.Equal(ev.Rejected, []string{"bad", "refused"}) || !slices.Equal(ev.Removed, []string{"gone"}) {
		t.Errorf("rejected = %q, removed = %q", ev.Rejected, ev.Removed)
	}
	if len(ev.Accepted) != 1 || ev.Accepted[0].Name != "alive" || !ev.Accepted[0].Heartbeat || !slices.Equal(ev.Accepted[0].Aliases, []string{"alias"}) {
		t.Errorf("accepted = %+v", ev.Accepted)
	}
}
