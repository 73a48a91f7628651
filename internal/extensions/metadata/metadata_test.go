package metadata_test

import (
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/metadata"
)

func TestAddress(t *testing.T) {
	kind := metadata.Address()
	for text, want := range map[string]string{
		`{"socket_address": {"address": "::1", "port_value": 0}}`:          "[::1]:0",
		`{"socket_address": {"address": "1.2.3.4", "port_value": 80}}`:     "1.2.3.4:80",
		`{"socket_address": {"address": "1.2.3.4"}}`:                       "!socket_address.port_value; must be set (A86)",
		`{"socket_address": {"address": "1.2.3.4", "named_port": "http"}}`: "!socket_address.port_value; must be set (A86)",
		`{"socket_address": {"address": "proxy", "port_value": 80}}`:       "!socket_address.address",
		`{"pipe": {"path": "/run/x"}}`:                                     "!",
		`{}`:                                                               "!",
		`{"unknown": 1}`:                                                   "!",
	} {
		fields := new(structpb.Struct)
		if err := fields.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := kind.Parse(nil, resource.TypedConfig{Message: kind.Message, Fields: fields})
		if rule, wrong := strings.CutPrefix(want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), rule) {
				t.Errorf("%s: %v, want an error with %q", text, err, rule)
			}
			continue
		}
		if err != nil || got != netip.MustParseAddrPort(want) {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
}
