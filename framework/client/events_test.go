package client

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// TestRecordsOfSeveralAuthorities expects the records of all authorities of a response in the
// response's results.
func TestRecordsOfSeveralAuthorities(t *testing.T) {
	server, err := bootstrap.ParseServer([]byte(`{"server_uri": "xds.example:443", "channel_creds": [{"type": "insecure"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	typ := resource.Describe(cluster.Type())
	types, err := resource.NewSet(typ)
	if err != nil {
		t.Fatal(err)
	}
	config := authority.Config{Types: types, Servers: []*bootstrap.Server{server}}
	c := &Client{oldStyle: &authorityScope{machine: authority.New(config)}, authorities: map[string]*authorityScope{"a": {machine: authority.New(config)}}}
	ses := &session{users: []user{{c.oldStyle, 0}, {c.authorities["a"], 0}}}
	d := decoded{typ: typ}
	for _, s := range []string{"one", "xdstp://a/t/two", "xdstp://unknown/t/three", "four"} {
		n, err := xdstp.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if scope := c.find(n); scope != nil {
			scope.machine.Watch(scope.machine.Handle(typ, n), new(subscription), time.Now())
			scope.machine.Ready()
		}
		d.results = append(d.results, authority.Result{Name: n, Removed: true})
	}
	for i, scope := range []*authorityScope{c.oldStyle, c.authorities["a"]} {
		if results, at := d.of(c, scope); len(results) != 2-i || len(at) != 2-i {
			t.Errorf("authority %d has %d results at %v, want %d", i, len(results), at, 2-i)
		}
	}
	l := newLoop(c, ads.Config{})
	for _, u := range ses.users { // the test delivers no notices
		results, at := d.of(c, u.authorityScope)
		u.machine.Received(&authority.Response{Type: typ, Results: results}, l.now)
		d.record(results, at)
	}
	for i, want := range []bool{true, true, false, true} {
		if got := d.results[i].Record != (authority.Handle{}); got != want {
			t.Errorf("%s has a record: %t, want %t", d.results[i].Name, got, want)
		}
	}
}

// The reader tells the stream every name of a response. Names that the response lacks may be stale.
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
	want := []ads.Resource{
		{Name: "bad", Verdict: ads.Rejected},
		{Name: "refused", Verdict: ads.Rejected},
		{Name: "gone", Verdict: ads.Removed},
		{Name: "alive", Version: "1", Heartbeat: true, Aliases: []string{"alias"}},
	}
	if diff := cmp.Diff(want, slices.Collect(d.resources)); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}
