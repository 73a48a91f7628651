package listener_test

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/plugincase"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

func packed(tb testing.TB, m proto.Message) *anypb.Any {
	tb.Helper()
	a, err := anypb.New(m)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// api is a client's listener whose manager has the filters fault and router.
func api(tb testing.TB) proto.Message {
	tb.Helper()
	filter := func(name string, m proto.Message) *hcmv3.HttpFilter {
		return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(tb, m)}}
	}
	return &listenerv3.Listener{Name: "listener", ApiListener: &listenerv3.ApiListener{ApiListener: packed(tb, &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			RouteConfigName: "routes",
			ConfigSource:    &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{
			filter("fault", &faultv3.HTTPFault{MaxActiveFaults: wrapperspb.UInt32(10)}),
			filter("router", &routerv3.Router{}),
		},
	})}}
}

func BenchmarkDecode(b *testing.B) {
	server, err := mixed(b, 1000).Proto()
	if err != nil {
		b.Fatal(err)
	}
	for name, m := range map[string]proto.Message{"api": api(b), "chains=1000": server} {
		b.Run(name, func(b *testing.B) { plugincase.Bench(b, listener.Type(), m) })
	}
}
