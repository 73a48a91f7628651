package xdstest_test

import (
	"errors"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/xdstest"
)

func anyOf(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestDecode expects the update that a client would decode.
func TestDecode(t *testing.T) {
	u := xdstest.Decode(t, cluster.Type(), eds("checkout", 7))
	if u.MaxRequests != 7 || u.Name().String() != "checkout" || u.Version() != "1" || u.Server() == nil {
		t.Errorf("the update is %v", u)
	}
}

// TestDecodeInlined expects registered types to decode resources that are inlined in others.
func TestDecodeInlined(t *testing.T) {
	m := &listenerv3.Listener{Name: "shop", ApiListener: &listenerv3.ApiListener{ApiListener: anyOf(t, &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: "shop"}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: anyOf(t, new(routerv3.Router))},
		}},
	})}}
	if _, err := xdstest.TryDecode(listener.Type(), m); err == nil || !strings.Contains(err.Error(), "RouteConfiguration") {
		t.Errorf("TryDecode without the type of the inline routes: %v", err)
	}
	xdstest.Decode(t, listener.Type(), m, route.Register)
}

// TestTryDecode expects the same rejections as those of clients. An error names each mistake of the
// caller.
func TestTryDecode(t *testing.T) {
	var rejection *resource.ValidationError
	if _, err := xdstest.TryDecode(cluster.Type(), invalid("checkout")); !errors.As(err, &rejection) {
		t.Errorf("TryDecode of an invalid message: %v", err)
	}
	if _, err := xdstest.TryDecode(resource.TypeOf[*cluster.Update]{}, eds("a", 1)); !errors.Is(err, xdsforge.ErrUnknownType) {
		t.Errorf("TryDecode with a zero handle: %v", err)
	}
	for want, m := range map[string]proto.Message{
		"the message is a nil":               nil,
		"the message is a envoy.config.rout": new(routev3.RouteConfiguration),
		"must not be empty":                  eds("", 1),
	} {
		if _, err := xdstest.TryDecode(cluster.Type(), m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("TryDecode = %v; want %q", err, want)
		}
	}
	if got := failure(t, func(r *recorder) { xdstest.Decode(r, cluster.Type(), invalid("checkout")) }); !strings.Contains(got, "type = STATIC") {
		t.Errorf("Decode fails the test with %q; want the violation", got)
	}
}
