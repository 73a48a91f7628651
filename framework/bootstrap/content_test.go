package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

const wholeContent = `{
	"node": {"id": "n", "metadata": {"a": "1", "b": "2"}},
	"xds_servers": [{"server_uri": "one.example:1", "channel_creds": [{"type": "insecure"}]}, {"server_uri": "two:1", "channel_creds": [{"type": "insecure"}]}],
	"authorities": {"x": {"xds_servers": [{"server_uri": "three:1", "channel_creds": [{"type": "insecure"}]}]}, "y": {}},
	"client_default_listener_resource_name_template": "c/%s",
	"server_listener_resource_name_template": "s/%s",
	"certificate_providers": {"p": {"plugin_name": "file_watcher", "config": {"a": 1, "b": 2}}}
}`

func keyOf(t *testing.T, text string, opts ...bootstrap.Option) string {
	t.Helper()
	c, err := bootstrap.Parse([]byte(text), append([]bootstrap.Option{bootstrap.WithFederation(true)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c.Key()
}

// TestConfigKey expects the key to depend on each part of the content, but not on the layout.
func TestConfigKey(t *testing.T) {
	key := keyOf(t, wholeContent)
	for _, same := range [][2]string{
		{`{"a": 1, "b": 2}`, `{"b":2,"a":1}`},
		{`"a": "1", "b": "2"`, `"b": "2", "a": "1"`},
		{"\n", " \n"},
		{`"y": {}`, `"y": {"xds_servers": []}`},
		{`"one.example:1"`, `"dns:///one.example:1"`},
	} {
		if !strings.Contains(wholeContent, same[0]) {
			t.Fatalf("%s is not in the content", same[0])
		}
		if got := keyOf(t, strings.Replace(wholeContent, same[0], same[1], 1)); got != key {
			t.Errorf("%s in the place of %s makes another key", same[1], same[0])
		}
	}
	keys := map[string]string{key: "the content itself"}
	for _, other := range [][2]string{
		{`"id": "n"`, `"id": "m"`},
		{`"a": "1"`, `"a": "3"`},
		{`"one.example:1"`, `"four:1"`},
		{`"three:1"`, `"four:1"`},
		{`"x": {`, `"z": {`},
		{`"y": {}`, `"y": {"client_listener_resource_name_template": "xdstp://y/t/%s"}`},
		{`"y": {}`, `"y": {"fallback_on_reachability_only": true}`},
		{`"c/%s"`, `"d/%s"`},
		{`"s/%s"`, `"d/%s"`},
		{`"p": {`, `"q": {`},
		{`"file_watcher"`, `"other"`},
		{`"a": 1`, `"a": 3`},
	} {
		got := keyOf(t, strings.Replace(wholeContent, other[0], other[1], 1))
		if before, taken := keys[got]; taken {
			t.Errorf("%s in the place of %s has the key of %s", other[1], other[0], before)
		}
		keys[got] = other[1]
	}
	const plain = `{"xds_servers": [{"server_uri": "one.example:1", "channel_creds": [{"type": "insecure"}]}]}`
	if keyOf(t, plain) == keyOf(t, plain, bootstrap.WithFederation(false)) {
		t.Error("the support of federation does not count without authorities; it decides how names are read")
	}
	for name, opt := range map[string]bootstrap.Option{
		"without federation":       bootstrap.WithFederation(false),
		"other call credentials":   bootstrap.WithCallCreds("own"),
		"more channel credentials": bootstrap.WithChannelCreds("insecure", "own"),
	} {
		got := keyOf(t, wholeContent, opt)
		if before, taken := keys[got]; taken {
			t.Errorf("%s: the key of %s", name, before)
		}
		keys[got] = name
	}
}

func BenchmarkConfigKey(b *testing.B) {
	c, err := bootstrap.Parse([]byte(wholeContent))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_ = c.Key()
	}
}
