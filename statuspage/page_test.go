package statuspage_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/statuspage/internal/linediff"
)

const clusterType = "envoy.config.cluster.v3.Cluster"

// Every page exists as HTML and as JSON, and shows its command of xdsctl.
func TestPages(t *testing.T) {
	w := newWorld(t, 5)
	for _, page := range []struct {
		view, command string
		params        []string
		want          []string
	}{
		{"", "xdsctl status ADDR", nil, []string{"Healthy", "xds:///checkout.example", "gRPC servers", "catalogue", "CONNECTED", "SERVING", "ACCEPTED"}},
		{"client", "xdsctl tree --conn ADDR --scope xds:///checkout.example xds:///checkout.example", []string{"client", checkout}, []string{"checkout-routes", "checkout-canary", "ClusterLoadAssignment", "round_robin", "READY", "127.0.0.1:"}},
		{"client", "xdsctl tree --conn ADDR --scope &#39;#server&#39; &#39;#server&#39;", []string{"client", "1.1.#server"}, []string{"server/127.0.0.1:"}},
		{"resources", "xdsctl status ADDR", nil, []string{"checkout-routes", "service-000004"}},
		{
			"resource", "xdsctl get --conn ADDR --scope xds:///checkout.example " + clusterType + " checkout",
			[]string{"client", checkout, "type", clusterType, "name", "checkout"},
			[]string{"max_requests: 1024", "checkout-routes", "Refers to"},
		},
		{"resources", "xdsctl status --scope xds:///checkout.example --type " + clusterType + " ADDR", []string{"client", checkout, "type", clusterType}, []string{"checkout-canary"}},
		{"servers", "xdsctl status --scope &#39;#server&#39; ADDR", nil, []string{"SERVING", "CURRENT", "127.0.0.1:"}},
		{"events", "xdsctl status --watch ADDR", nil, []string{"CONNECTED", "RESPONSE"}},
		{"route", "", nil, []string{"Route tester", "xds:///payments.example"}},
		{
			"route", "xdsctl route --conn ADDR --target xds:///checkout.example --method /shop.Checkout/Pay -H x-version:canary",
			[]string{"client", checkout, "method", "/shop.Checkout/Pay", "header", "X-Version: canary"},
			[]string{"The call takes route 0", "fixed_delay"},
		},
	} {
		text := w.html(page.view, page.params...)
		for _, want := range append(page.want, page.command) {
			if !strings.Contains(text, want) {
				t.Errorf("page %q %q lacks %q", page.view, page.params, want)
			}
		}
		var data map[string]any
		w.json(&data, page.view, page.params...)
		if len(data) == 0 {
			t.Errorf("the JSON of page %q %q is empty", page.view, page.params)
		}
	}
}

// Things that are gone have status 404, and parameters that break a rule 400.
func TestErrors(t *testing.T) {
	w := newWorld(t, 0)
	for _, test := range []struct {
		code   int
		want   string
		view   string
		params []string
	}{
		{http.StatusNotFound, `there is no page "nothing"`, "nothing", nil},
		{http.StatusNotFound, `client "x" is not known`, "client", []string{"client", "x"}},
		{http.StatusNotFound, `Cluster "x" of client`, "resource", []string{"client", checkout, "type", clusterType, "name", "x"}},
		{http.StatusBadRequest, `page = "0"; must be a number`, "resources", []string{"page", "0"}},
		{http.StatusBadRequest, `q = "a"; must be given once`, "resources", []string{"q", "a", "q", "a"}},
		{http.StatusBadRequest, `must have at most 256 bytes`, "events", []string{"q", strings.Repeat("x", 257)}},
		{http.StatusBadRequest, `q = "\xff"; must be UTF-8`, "events", []string{"q", "\xff"}},
		{http.StatusBadRequest, `method = "x"; must start with`, "route", []string{"method", "x"}},
		{http.StatusBadRequest, `header = "x"; must be like`, "route", []string{"header", "x"}},
		{http.StatusBadRequest, `must have at most 16384 bytes`, "route", []string{"header", strings.Repeat("x", 17000)}},
		{http.StatusRequestURITooLong, `the query is too long`, "route", []string{"header", strings.Repeat("x", 70000)}},
	} {
		rec := w.request(asJSON, test.view, test.params...)
		if rec.Code != test.code || !strings.Contains(strings.ReplaceAll(rec.Body.String(), `\`, ""), strings.ReplaceAll(test.want, `\`, "")) {
			t.Errorf("page %q %.60q: status %d, %s; want %d with %s", test.view, test.params, rec.Code, rec.Body, test.code, test.want)
		}
		if rec = w.request(asHTML, test.view, test.params...); rec.Code != test.code || !strings.Contains(rec.Body.String(), "<main") {
			t.Errorf("page %q %.60q: status %d; want a page with status %d", test.view, test.params, rec.Code, test.code)
		}
	}
}

// A rejected version is compared with the one in use. The lines that break a rule are marked.
func TestRejectionAsDiff(t *testing.T) {
	w := newWorld(t, 0)
	w.play("reject")
	w.await("the rejection", func() bool { return w.health().Health.State == "DEGRADED" })
	p := w.health().Health.Problems[0]
	if p.Type != clusterType || p.Name != "checkout" || p.ControlPlane == "" || p.NodeID != "web-1" || p.Version == "" || p.Client != checkout {
		t.Errorf("the first problem = %+v; want the cluster with its control plane and node", p)
	}
	var d struct {
		Violations []struct{ Path, Value, Rule string }
		Diff       []struct {
			Op         linediff.Op
			Text, Rule string
		}
	}
	w.json(&d, "resource", "client", checkout, "type", clusterType, "name", "checkout")
	rules := make(map[string]string)
	for _, v := range d.Violations {
		rules[v.Path] = v.Value + " " + v.Rule
	}
	if len(rules) != 2 || !strings.Contains(rules["lb_policy"], "MAGLEV must be one of") || !strings.Contains(rules["outlier_detection.interval"], "-10s must be at least") {
		t.Errorf("the broken rules are %v", rules)
	}
	var lines []string
	for _, l := range d.Diff {
		if l.Op != linediff.Both && l.Op != linediff.Hidden {
			lines = append(lines, string(l.Op)+l.Text+" ("+l.Rule[:min(len(l.Rule), 10)]+")")
		}
	}
	got := strings.Join(lines, "\n")
	want := "+lb_policy: MAGLEV (must be on)\n-max_requests: 1024 ()\n+max_requests: 2048 ()\n" +
		"-interval: \"10s\" ()\n+interval: \"-10s\" (must be at)"
	if got != want {
		t.Errorf("the differences are\n%s\nwant\n%s", got, want)
	}
	text := w.html("resource", "client", checkout, "type", clusterType, "name", "checkout")
	if !strings.Contains(text, `<ins class="broken">+ lb_policy: MAGLEV <b>← must be one of`) {
		t.Error("the page does not mark the line of lb_policy")
	}
	if text = w.html(""); !strings.Contains(text, "of <bdi>"+p.ControlPlane+"</bdi>: <bdi>invalid: outlier_detection") {
		t.Error("the first line does not have the reason")
	}
	if text = w.html("client", "client", checkout); !strings.Contains(text, `class="head degraded"`) {
		t.Error("the chain does not mark the rejected cluster")
	}
}

// The first line follows from one rejection to another one of the same resource.
func TestHealthFollowsRejections(t *testing.T) {
	w := newWorld(t, 0)
	for _, step := range []struct{ name, want string }{{"reject", "MAGLEV"}, {"reject again", "CLUSTER_PROVIDED"}, {"reject", "MAGLEV"}} {
		w.play(step.name)
		w.await("the rejection of "+step.want, func() bool {
			h := w.health().Health
			return len(h.Problems) == 1 && strings.Contains(h.Problems[0].Text, step.want)
		})
	}
}

// The first line names the worst problem: a channel that fails because of a resource.
func TestHealthOfBrokenTargets(t *testing.T) {
	w := newWorld(t, 0)
	if h := w.health(); h.Health.State != "HEALTHY" || len(h.Health.Problems) != 0 || len(h.Targets) != 2 || len(h.Servers) != 1 || len(h.Events) == 0 {
		t.Fatalf("health = %+v; want a healthy start", h)
	}
	w.play("reject")
	w.play("break")
	w.await("a broken target", func() bool { return w.health().Health.State == "BROKEN" })
	if p := w.health().Health.Problems[0]; p.Level != "BROKEN" || p.Name != "payments-v2" || p.Client != payments || !strings.Contains(p.Text, "invalid: ") {
		t.Errorf("the first problem = %+v; want the cluster payments-v2", p)
	}
	if text := w.html("client", "client", payments); !strings.Contains(text, `class="head broken"`) {
		t.Error("the chain does not mark the broken cluster")
	}
	w.play("recover")
	w.await("the recovery", func() bool { return w.health().Health.State == "HEALTHY" })
}

// The first line names endpoints that cannot be reached, and ports that do not serve.
func TestHealthOfTheDataPlane(t *testing.T) {
	w := newWorld(t, 0)
	w.play("endpoint")
	w.await("a failed endpoint", func() bool {
		h := w.health().Health
		return h.State == "DEGRADED" && strings.Contains(h.Problems[0].Text, `of cluster "checkout" cannot be reached: `)
	})
	w.play("server")
	w.await("a port that does not serve", func() bool {
		h := w.health()
		for _, p := range h.Health.Problems {
			if h.Clients[0].Scope == "#server" && h.Clients[0].Level == "BROKEN" && p.Level == "BROKEN" && strings.HasPrefix(p.Text, "port 127.0.0.1:") && strings.Contains(p.Text, "does not serve: ") {
				return true
			}
		}
		return false
	})
	if text := w.html("servers"); !strings.Contains(text, "NOT_SERVING") {
		t.Error("the page of the servers does not show that the port does not serve")
	}
}
