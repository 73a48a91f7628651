package statefulsession

import (
	"testing"
	"time"

	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

const (
	cookie = `session_state { typed_config { [type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState] { `
	end    = ` } } }`
)

func TestParse(t *testing.T) {
	f := Filter()
	override := func(m proto.Message) bool { _, ok := m.(*statefulsessionv3.StatefulSessionPerRoute); return ok }
	for _, test := range []struct {
		m    proto.Message
		text string
		want Config
		err  string
	}{
		{new(statefulsessionv3.StatefulSession), cookie + `cookie { name: "s" path: "/p" ttl { seconds: 3 } }` + end, Config{"s", "/p", 3 * time.Second}, ""},
		{new(statefulsessionv3.StatefulSession), cookie + `cookie { name: "s" }` + end, Config{Name: "s", Path: "/"}, ""},
		{new(statefulsessionv3.StatefulSession), ``, Config{}, ""},
		{
			new(statefulsessionv3.StatefulSession), cookie + `cookie { ttl { seconds: -1 } }` + end,
			Config{Path: "/", TTL: -time.Second},
			`session_state.typed_config.cookie.name = ""; must be set (A55), and session_state.typed_config.cookie.ttl = -1s; must be at least 0s (A55)`,
		},
		{
			new(statefulsessionv3.StatefulSession), `session_state { typed_config { [type.googleapis.com/google.protobuf.Any] { } } }`,
			Config{},
			`session_state.typed_config; is a google.protobuf.Any; must be a envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState`,
		},
		{new(statefulsessionv3.StatefulSessionPerRoute), `disabled: true`, Config{}, ""},
		{new(statefulsessionv3.StatefulSessionPerRoute), `stateful_session { ` + cookie + `cookie { name: "s" }` + end + ` }`, Config{Name: "s", Path: "/"}, ""},
		{
			new(statefulsessionv3.StatefulSessionPerRoute), `stateful_session { ` + cookie + end + ` }`,
			Config{Path: "/"},
			`stateful_session.session_state.typed_config.cookie.name = ""; must be set (A55)`,
		},
	} {
		if err := prototext.Unmarshal([]byte(test.text), test.m); err != nil {
			t.Fatal(err)
		}
		a, err := anypb.New(test.m)
		if err != nil {
			t.Fatal(err)
		}
		c, err := resource.OpenTypedConfig(a)
		if err != nil {
			t.Fatal(err)
		}
		parse := f.Parse
		if override(test.m) {
			parse = f.ParseOverride
		}
		got, err := parse(nil, c)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%s: %+v, %v; want %+v, %s", test.text, got, err, test.want, test.err)
		}
	}
}
