package standard_test

import (
	"slices"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// The decoder skips an unread field, even if the message in it is malformed. It rejects a resource
// with a malformed message in a field that it reads, or with a truncated field.
func TestUnreadMalformedBytes(t *testing.T) {
	set := types(t)
	field := func(number protowire.Number, value ...byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	garbage := []byte{0xff, 0xff, 0xff} // a truncated tag
	for _, test := range []struct {
		message      string
		base         []byte
		unread, read protowire.Number // fields of messages
	}{
		{"envoy.config.listener.v3.Listener", listenerBody(t, new(routev3.RouteConfiguration)), 6, 19},                   // metadata, api_listener
		{"envoy.config.route.v3.RouteConfiguration", nil, 9, 2},                                                          // vhds, virtual_hosts
		{"envoy.config.cluster.v3.Cluster", slices.Concat([]byte{2 << 3, 3}, field(3, field(1, field(3)...)...)), 14, 3}, // http2_protocol_options, eds_cluster_config
		{"envoy.config.endpoint.v3.ClusterLoadAssignment", nil, 5, 2},                                                    // named_endpoints, endpoints
	} {
		typ, ok := set.Lookup(test.message)
		if !ok {
			t.Fatalf("%s is not registered", test.message)
		}
		accepts := func(more ...byte) error {
			name, err := xdstp.Parse("n")
			if err != nil {
				t.Fatal(err)
			}
			_, err = typ.Decode(&resource.DecodeContext{Name: name, Types: set}, slices.Concat(test.base, more))
			return err
		}
		if err := accepts(); err != nil {
			t.Fatalf("%s without further fields: %v", test.message, err)
		}
		if err := accepts(field(test.unread, garbage...)...); err != nil {
			t.Errorf("%s with malformed field %d, which is not read: %v", test.message, test.unread, err)
		}
		if accepts(field(test.read, garbage...)...) == nil {
			t.Errorf("%s with malformed field %d, which is read, is accepted", test.message, test.read)
		}
		if cut := field(test.unread, garbage...); accepts(cut[:len(cut)-1]...) == nil {
			t.Errorf("%s with a truncated field is accepted", test.message)
		}
	}
}
