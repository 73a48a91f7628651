package statuspage_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/xdsforge/xdsforge/statuspage/internal/scene"
)

// intrusions returns the elements and attributes of a page that the templates do not have.
func intrusions(t *testing.T, page string) (found []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			found = append(found, "<!--"+n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" || strings.ContainsAny(a.Key, `"'<`) {
				found = append(found, n.Data+" "+a.Key)
			}
			if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !strings.HasPrefix(a.Val, "./") && a.Val != "#main" {
				found = append(found, n.Data+" "+a.Key+"="+a.Val)
			}
		}
		switch n.Data {
		case "script":
			if n.FirstChild != nil || len(n.Attr) != 2 {
				found = append(found, "script")
			}
		case "img", "iframe", "object", "embed", "svg", "style", "base", "video":
			found = append(found, n.Data)
		}
	}
	return found
}

// Names, versions, errors and parameters with scripts do not change the structure of a page.
func TestPagesEscape(t *testing.T) {
	w := newWorld(t, 0)
	w.play("hostile")
	w.play("reject")
	hostile := "1.1." + scene.Script
	w.await("a rejection", func() bool { return w.health().Health.State == "BROKEN" })
	for _, page := range [][]string{
		{""},
		{"client", "client", hostile},
		{"resources", "q", "script"},
		{"resources", "q", scene.Script, "client", scene.Script, "type", scene.Script, "state", scene.Script},
		{"resource", "client", hostile, "type", "envoy.config.endpoint.v3.ClusterLoadAssignment", "name", scene.Script},
		{"events"},
		{"events", "q", scene.Script, "kind", scene.Script},
		{"route", "client", hostile, "method", "/" + scene.Script, "header", "x: " + scene.Script},
		{"route", "method", scene.Script},
		{scene.Script},
	} {
		text := w.request(asHTML, strings.ReplaceAll(strings.ReplaceAll(page[0], "/", ""), " ", "%20"), page[1:]...).Body.String()
		if found := intrusions(t, text); len(found) > 0 {
			t.Errorf("page %q has %q", page, found)
		}
		if page[0] != "" && !strings.Contains(text, "&lt;script&gt;") && len(page) > 2 {
			t.Errorf("page %q does not show the text", page)
		}
	}
}
