package statuspage

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

const script = `"'></bdi></code><script>alert(1)</script><img src=x onerror=alert(1)>`

// fill sets every text below v to the script, and gives each list an element.
func fill(t *testing.T, v reflect.Value, depth int) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(1, 0)
		return
	case *error:
		*x = errors.New(script)
		return
	case **bootstrap.Server:
		config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "<script>alert(1)</script><img onerror=x>", "channel_creds": [{"type": "insecure"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		*x = config.Servers()[0]
		return
	case *xdstp.Name, *environment.Scope:
		return
	}
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(script)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct && !strings.Contains(v.Type().String(), "corev3") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(t, v.Index(0), depth+1)
			fill(t, v.Index(1), depth+1)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(t, field, depth+1)
			}
		}
	default: // has no text
	}
}

// Each template escapes each text of its data.
func TestTemplatesEscapeEveryText(t *testing.T) {
	s := newSite(Config{CSDS: script}, nil)
	for view, data := range map[string]any{
		"": new(overview), "client": new(clientPage), "resources": new(resourcesPage), "resource": new(resourcePage), "events": new(eventsPage),
		"route": new(routePage), "servers": &struct{ Servers []inspect.Server }{}, "error": new(string),
	} {
		v := reflect.ValueOf(data).Elem()
		fill(t, v, 0)
		var h inspect.Health
		fill(t, reflect.ValueOf(&h).Elem(), 0)
		var b strings.Builder
		p := page{View: view, Title: script, Health: h, Command: s.xdsctl(script), Curl: shell(script), Now: time.Unix(100, 0), Data: v.Interface()}
		if err := s.templates[view].Execute(&b, p); err != nil {
			t.Fatalf("page %q: %v", view, err)
		}
		if n := strings.Count(b.String(), "&lt;script&gt;"); n < 5 {
			t.Errorf("page %q shows the text %d times; want it in every place", view, n)
		}
		if strings.Contains(b.String(), "ZgotmplZ") {
			t.Errorf("page %q has a value that the template refuses", view)
		}
		doc, err := html.Parse(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && (n.Data == "img" || n.Data == "script" && n.FirstChild != nil) {
				t.Errorf("page %q has an element %s that is text", view, n.Data)
			}
		}
	}
}
