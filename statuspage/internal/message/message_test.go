package message

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func render(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", l.Depth), l.Text)
	}
	return b.String()
}

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestLines(t *testing.T) {
	m := new(clusterv3.Cluster)
	if err := prototext.Unmarshal([]byte(`name: "a\n<b>" type: EDS connect_timeout { seconds: 1 } per_connection_buffer_limit_bytes { value: 7 }
		eds_cluster_config { eds_config { ads {} } }
		metadata { filter_metadata { key: "z" value { fields { key: "k" value { number_value: 1 } } } } filter_metadata { key: "a" value {} } }
		health_checks { timeout { seconds: 2 } } health_checks { reuse_connection { value: true } }
		typed_extension_protocol_options { key: "x" value { type_url: "type.googleapis.com/acme.Unknown" value: "abc" } }
		transport_socket { name: "tls" typed_config { [type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext] { sni: "s" } } }`), m); err != nil {
		t.Fatal(err)
	}
	b := append(encode(t, m), 0xfa, 0x7f, 1, 'x') // field 2047
	got := render(Lines("envoy.config.cluster.v3.Cluster", b))
	want := `name: "a\n<b>"
type: EDS
eds_cluster_config:
  eds_config:
    ads: {}
connect_timeout: "1s"
per_connection_buffer_limit_bytes: 7
health_checks[0]:
  timeout: "2s"
health_checks[1]:
  reuse_connection: true
typed_extension_protocol_options[x]: acme.Unknown # 3 bytes; this program does not link the type
transport_socket:
  name: "tls"
  typed_config: envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
    sni: "s"
metadata:
  filter_metadata[a]: {}
  filter_metadata[z]: {"k":1}
# 4 bytes of fields that this program does not know
`
	for line := range strings.SplitSeq(want, "\n") {
		if !strings.Contains(got, line+"\n") && line != "" {
			t.Errorf("the message lacks the line %q:\n%s", line, got)
		}
	}
	if strings.Count(got, "\n") != strings.Count(want, "\n") {
		t.Errorf("the message is\n%s\nwant the lines of\n%s", got, want)
	}
	for _, l := range Lines("envoy.config.cluster.v3.Cluster", b) {
		if l.Text == `timeout: "2s"` && (l.Path != "health_checks[0].timeout" || l.Depth != 1) {
			t.Errorf("the path of the timeout is %q at depth %d", l.Path, l.Depth)
		}
	}
}

// Messages that cannot be read have one line with the reason.
func TestUnreadableMessages(t *testing.T) {
	if got := render(Lines("acme.Unknown", []byte("abc"))); got != "# 3 bytes of acme.Unknown, which this program does not link\n" {
		t.Errorf("an unknown type: %s", got)
	}
	// Redaction drops the bytes of a message that cannot be decoded.
	if got := render(Lines("envoy.config.cluster.v3.Cluster", []byte{0xff})); strings.Contains(got, "\xff") {
		t.Errorf("an unreadable message: %s", got)
	}
	a := &anypb.Any{TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Value: []byte{0xff}}
	socket := &corev3.TransportSocket{Name: "x", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: a}}
	if got := render(Lines("envoy.config.core.v3.TransportSocket", encode(t, socket))); !strings.HasPrefix(got, "name: \"x\"\n") {
		t.Errorf("an unreadable Any: %s", got)
	}
}

func TestLinesAreRedacted(t *testing.T) {
	secret := &tlsv3.TlsCertificate{PrivateKey: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: "hunter2"}}}
	if got := render(Lines("envoy.extensions.transport_sockets.tls.v3.TlsCertificate", encode(t, secret))); strings.Contains(got, "hunter2") || !strings.Contains(got, "[redacted]") {
		t.Errorf("the private key is shown: %s", got)
	}
}

func TestLinesAreLimited(t *testing.T) {
	m := &clusterv3.Cluster{}
	for range maxLines + 10 {
		m.HealthChecks = append(m.HealthChecks, &corev3.HealthCheck{AltPort: nil})
	}
	lines := Lines("envoy.config.cluster.v3.Cluster", encode(t, m))
	if n := len(lines); n != maxLines+1 || lines[n-1].Text != "# the limit of 5000 lines is reached" {
		t.Errorf("%d lines, the last one %q; want %d and one that says so", n, lines[n-1].Text, maxLines)
	}
}

func FuzzLines(f *testing.F) {
	f.Add(encode(f, &clusterv3.Cluster{Name: "x", EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{ServiceName: "y"}}))
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, l := range Lines("envoy.config.cluster.v3.Cluster", b) {
			if strings.ContainsFunc(l.Text+l.Path, unicode.IsControl) || len(l.Text) > 4<<10 {
				t.Errorf("the line %q is not printable", l.Text)
			}
		}
	})
}
