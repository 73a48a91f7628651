package httpxds_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// headerExtension is a resource with the configuration of the filter header_mutation, which adds a value to x-a.
func headerExtension(value string) string {
	return `name: "e" typed_config { [type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation] { ` + adding(value) + ` } }`
}

const discovered = `http_filters { name: "e" config_discovery { config_source { ads {} } } } `

// A client reads the configuration of an HTTP filter from a separate resource, and follows its changes.
func TestClientExtension(t *testing.T) {
	w := newWorld(t)
	w.cluster("c", "", serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header.Values("X-A"), ","))
	}))
	w.filtered(discovered, `virtual_hosts { name: "h" domains: "svc" %s }`, to("c"))
	w.set(new(corev3.TypedExtensionConfig), "%s", headerExtension("one"))
	rt := w.transport()
	if _, got := headerOf(t, rt, "xds://svc/", "x-a"); got != "one" {
		t.Errorf("the endpoint receives the header %q; want one", got)
	}
	w.set(new(corev3.TypedExtensionConfig), "%s", headerExtension("two"))
	ctx := soon(t)
	for got := ""; got != "two" && ctx.Err() == nil; {
		if _, got = headerOf(t, rt, "xds://svc/", "x-a"); got != "one" && got != "two" {
			t.Fatalf("the endpoint receives the header %q; want one or two", got)
		}
	}
	if err := ctx.Err(); err != nil {
		t.Errorf("the endpoint never receives the new header: %v", err)
	}
}

// A server reads the configuration of an HTTP filter from a separate resource. Connections follow its changes.
func TestServerExtension(t *testing.T) {
	s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header.Values("X-A"), ","))
	}), "", nil)
	s.listen(chain("", discovered+hosts(anyRoute)))
	set := func(value string) {
		t.Helper()
		check(t, s.plane.SetText("e", new(corev3.TypedExtensionConfig), "%s", headerExtension(value)))
	}
	set("one")
	s.serving("")
	url := fmt.Sprintf("http://%s/", s.addr)
	rt := new(http.Transport)
	defer rt.CloseIdleConnections()
	if _, got := headerOf(t, rt, url, "x-a"); got != "one" {
		t.Errorf("the handler receives the header %q; want one", got)
	}
	set("two")
	for got := ""; got != "two" && s.ctx.Err() == nil; {
		if _, got = headerOf(t, rt, url, "x-a"); got != "one" && got != "two" {
			t.Fatalf("the handler receives the header %q; want one or two", got)
		}
	}
	if err := s.ctx.Err(); err != nil {
		t.Errorf("the handler never receives the new header: %v", err)
	}
}
