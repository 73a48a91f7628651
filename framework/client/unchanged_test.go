package client

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// known is an update without fields.
type known struct{ resource.Meta }

func old(t *testing.T, s string) xdstp.Name {
	t.Helper()
	n, err := xdstp.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestUnchangedComparesBytesAndServer(t *testing.T) {
	server := func(uri string) *bootstrap.Server {
		sv, err := bootstrap.ParseServer([]byte(`{"server_uri": "` + uri + `", "channel_creds": [{"type": "insecure"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return sv
	}
	a, b := server("a:1"), server("b:1")
	dc := resource.DecodeContext{Name: old(t, "n"), Server: a}
	u := &known{Meta: dc.Meta([]byte("body"))}
	s := runtime.NewShard[*known]()
	s.Store(u)
	if got, ok := unchanged(s, dc.Name, []byte("body"), server("a:1")); !ok || got != u {
		t.Errorf("the same bytes of an equal server: %v, %v", got, ok)
	}
	for what, ok := range map[string]bool{
		"other bytes":  second(unchanged(s, dc.Name, []byte("b0dy"), a)),
		"other server": second(unchanged(s, dc.Name, []byte("body"), b)),
		"other name":   second(unchanged(s, old(t, "m"), []byte("body"), a)),
	} {
		if ok {
			t.Errorf("%s: unchanged", what)
		}
	}
}

func second(_ resource.Update, ok bool) bool { return ok }
