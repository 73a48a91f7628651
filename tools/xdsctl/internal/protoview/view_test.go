package protoview

import (
	"encoding/json"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/configfile"
)

func pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestJSON(t *testing.T) {
	key := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: "top secret"}}
	secret := pack(t, &tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{PrivateKey: key}}})
	in := func(a *anypb.Any) *anypb.Any {
		return pack(t, &clusterv3.Cluster{Name: "c", TypedExtensionProtocolOptions: map[string]*anypb.Any{"k": a}})
	}
	for _, tt := range []struct {
		name    string
		a       *anypb.Any
		secrets bool
		want    string
		not     string
	}{
		{"unknown", &anypb.Any{TypeUrl: "type.googleapis.com/acme.Thing", Value: []byte("four")}, false, `{"@type":"type.googleapis.com/acme.Thing","unknown_message_bytes":4}`, ""},
		{"unknown within", in(&anypb.Any{TypeUrl: "x/acme.Thing", Value: []byte("four")}), false, `"k":{"@type":"x/acme.Thing","unknown_message_bytes":4}`, ""},
		{"unreadable", &anypb.Any{TypeUrl: "x/envoy.config.cluster.v3.Cluster", Value: []byte("\xff")}, false, `"unreadable/x/envoy.config.cluster.v3.Cluster","unknown_message_bytes":1`, ""},
		{"empty", in(new(anypb.Any)), false, `"k":{}`, ""},
		{"secret", secret, false, `[redacted]`, "top secret"},
		{"secret within", in(secret), false, `[redacted]`, "top secret"},
		{"shown secret", secret, true, `top secret`, "redacted"},
	} {
		v, err := New(new(configfile.Types), tt.secrets)
		if err != nil {
			t.Fatal(err)
		}
		before := proto.CloneOf(tt.a)
		got, err := v.JSON(tt.a)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if !json.Valid(got) || !strings.Contains(string(got), tt.want) || tt.not != "" && strings.Contains(string(got), tt.not) {
			t.Errorf("%s: JSON = %s; want %s, without %q", tt.name, got, tt.want, tt.not)
		}
		if !proto.Equal(before, tt.a) {
			t.Errorf("%s: JSON changed its argument", tt.name)
		}
	}
}

// Messages in an Any in an Any, and so on, must not cost more than their size.
func TestNesting(t *testing.T) {
	a := pack(t, &clusterv3.Cluster{Name: "innermost"})
	for range maxNesting + 5 {
		a = pack(t, a)
	}
	v, err := New(new(configfile.Types), false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.JSON(a)
	if err != nil || strings.Contains(string(got), "innermost") || !strings.Contains(string(got), "unknown_message_bytes") {
		t.Errorf("JSON = %s, %v; want the size of the message at the limit", got, err)
	}
}
