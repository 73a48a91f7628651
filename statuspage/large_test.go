package statuspage_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/secret"
	"github.com/xdsforge/xdsforge/statuspage"
	"github.com/xdsforge/xdsforge/statuspage/internal/scene"
	"github.com/xdsforge/xdsforge/xdstest"
)

const many = "1.1.catalogue"

// newManyWorld returns a scene with many resources. One of them is invalid.
func newManyWorld(tb testing.TB, n int) http.Handler {
	tb.Helper()
	s, err := scene.Start(tb.Context(), n)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	name := scene.CatalogueName(n / 2)
	body, err := proto.Marshal(&endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{Priority: 999, LoadBalancingWeight: wrapperspb.UInt32(1)}}})
	if err != nil {
		tb.Fatal(err)
	}
	s.Catalogue.Set(endpoint.Type().URL(), memoryads.Resource{Name: name, Body: body})
	if err := s.Catalogue.Await(tb.Context(), func() bool { return len(s.Catalogue.Rejections(endpoint.Type().URL())) > 0 }); err != nil {
		tb.Fatal(err)
	}
	return statuspage.Handler(s.Env)
}

// Pages of a client with many resources stay small. The search finds one of them, and the invalid one is
// the first.
func TestManyResources(t *testing.T) {
	const n = 20_000
	h := newManyWorld(t, n)
	for _, page := range [][]string{
		{""},
		{"resources"},
		{"resources", "page", "200"},
		{"client", "client", many},
		{"resource", "client", many, "type", endpoint.Type().Name(), "name", scene.CatalogueName(1)},
	} {
		rec := get(h, asHTML, page[0], page[1:]...)
		if rec.Code != http.StatusOK || rec.Body.Len() > 150<<10 {
			t.Errorf("page %q: status %d, %d bytes; want at most 150 KiB", page, rec.Code, rec.Body.Len())
		}
		if !strings.Contains(rec.Body.String(), "service-010000") {
			t.Errorf("page %q does not name the invalid resource", page)
		}
	}
	w := &world{T: t, handler: h}
	var list struct {
		Total, Selected, Page, Pages int
		Items                        []struct{ Name, State string }
	}
	w.json(&list, "resources")
	if list.Total < n || list.Pages != n/100+1 || len(list.Items) != 100 || list.Items[0].Name != scene.CatalogueName(n/2) || list.Items[0].State != "NACKED" {
		t.Errorf("%d resources on %d pages, first %v; want the invalid one first", list.Total, list.Pages, list.Items[0])
	}
	w.json(&list, "resources", "q", "SERVICE-01234", "page", "7")
	if list.Selected != 10 || list.Page != 1 || list.Items[0].Name != scene.CatalogueName(12340) {
		t.Errorf("the search finds %d resources on page %d; want 10 on the last page", list.Selected, list.Page)
	}
	text := get(h, asHTML, "resources", "q", "service", "page", "2").Body.String()
	for _, want := range []string{`href="./resources?page=1&amp;q=service"`, `href="./resources?page=3&amp;q=service"`, "Page 2 of 20"} {
		if !strings.Contains(text, want) {
			t.Errorf("the second page lacks %s", want)
		}
	}
}

func BenchmarkPages(b *testing.B) {
	h := newManyWorld(b, 100_000)
	for name, page := range map[string][]string{
		"overview": {""}, "resources": {"resources"}, "search": {"resources", "q", "service-099"}, "client": {"client", "client", many},
		"resource": {"resource", "client", many, "type", endpoint.Type().Name(), "name", scene.CatalogueName(1)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if rec := get(h, asHTML, page[0], page[1:]...); rec.Code != http.StatusOK {
					b.Fatal(rec.Code)
				}
			}
		})
	}
}

// Neither the version in use nor the rejected one shows a private key.
func TestSecretsAreRedacted(t *testing.T) {
	const hunter2 = "hunter2"
	synctest.Test(t, func(t *testing.T) {
		plane := xdstest.InMemory(t, secret.Type())
		env := plane.Env(xdsforge.WithTypes(secret.Register))
		c, err := env.NewNamedClient("c")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		stop, err := secret.Type().Subscribe(c, "s", func(resource.Event[*secret.Update]) {})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		key := func(s string) *corev3.DataSource {
			return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: s}}
		}
		certificate := &tlsv3.TlsCertificate{CertificateChain: key("public"), PrivateKey: key(hunter2)}
		plane.Set(&tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: certificate}})
		synctest.Wait()
		certificate.CertificateChain = nil
		certificate.Password = key(hunter2)
		plane.Set(&tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: certificate}})
		synctest.Wait()
		h := statuspage.Handler(env)
		for _, accept := range []string{asHTML, asJSON} {
			rec := get(h, accept, "resource", "client", "1.1.c", "type", secret.Type().Name(), "name", "s")
			text := rec.Body.String()
			if rec.Code != http.StatusOK || !strings.Contains(text, "[redacted]") || !strings.Contains(text, "public") || !strings.Contains(text, "NACKED") {
				t.Errorf("status %d: %s; want a rejected secret", rec.Code, text)
			}
			if strings.Contains(text, hunter2) {
				t.Errorf("the page has the private key: %s", text)
			}
		}
	})
}
