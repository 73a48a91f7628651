package secret_test

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/xdsforge/xdsforge/plugins/secret"
	"github.com/xdsforge/xdsforge/xdstest"
)

// The text of an update does not contain the secret.
func ExampleUpdate() {
	u, err := xdstest.TryDecode(secret.Type(), &tlsv3.Secret{Name: "token", Type: &tlsv3.Secret_GenericSecret{
		GenericSecret: &tlsv3.GenericSecret{Secret: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: "open sesame"},
		}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u)
	// Output: "token" version "1" {Content: Generic{Secret: {Source: Text{Value: <secret>}}}}
}
