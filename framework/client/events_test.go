package client

import (
	"slices"
	"testing"

	"github.com/xdsforge/xdsforge/framework/ads"
	"github.com/xdsforge/xdsforge/framework/authority"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

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
